#include "report/compared_runs.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <fstream>

#include "cli/exit_code.h"
#include "report/compared_times.h"

namespace flagos::diag {
namespace {

ResultDocument document(const char* command, std::vector<Row> rows, Row summary = Row::object()) {
  return {"x.json", command, Row::object(), std::move(summary), std::move(rows)};
}

// A median with an interval of +-`spread`, as a share.
Row time_row(const char* op, double ns, double spread = 0.001, const char* arm = "on") {
  return {{"op", op},
          {"case", "c"},
          {"arm", arm},
          {"ns_median", ns},
          {"ns_ci_low", ns * (1 - spread)},
          {"ns_ci_high", ns * (1 + spread)}};
}

std::string only_verdict(const ComparedRuns& compared) {
  EXPECT_EQ(compared.rows.size(), 1U);
  return compared.rows.empty() ? "" : compared.rows[0].at("verdict").get<std::string>();
}

std::string time_verdict(const Row& before, const Row& after, double noise = 0) {
  return only_verdict(compare_times(document("ab-bench", {before}, {{"noise_floor", noise}}),
                                    document("ab-bench", {after}, {{"noise_floor", 0.0}})));
}

std::string usage_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(ComparedTimes, IntervalAndPOfTwoIndependentMedians) {
  // Standard deviations of the logarithms: 0.03 and 0.04, so 0.05 together.
  const double normal95 = 1.959963984540054;
  const MedianTime before{100, 100 * std::exp(-0.03 * normal95), 100 * std::exp(0.03 * normal95)};
  const MedianTime after{110, 110 * std::exp(-0.04 * normal95), 110 * std::exp(0.04 * normal95)};
  const RatioEstimate ratio = ratio_between(before, after);
  EXPECT_NEAR(ratio.ratio, 1.1, 1e-12);
  EXPECT_NEAR(ratio.interval.low, 1.1 * std::exp(-0.05 * normal95), 1e-12);
  EXPECT_NEAR(ratio.interval.high, 1.1 * std::exp(0.05 * normal95), 1e-12);
  EXPECT_NEAR(ratio.p_adjusted, 0.0566238, 1e-6);  // 2 * (1 - Phi(ln(1.1) / 0.05))
}

TEST(ComparedTimes, WithoutSpreadOnlyEqualMediansAreTheSame) {
  EXPECT_EQ(ratio_between({100, 100, 100}, {100, 100, 100}).p_adjusted, 1);
  EXPECT_EQ(ratio_between({100, 100, 100}, {101, 101, 101}).p_adjusted, 0);
}

TEST(ComparedTimes, Verdicts) {
  EXPECT_EQ(time_verdict(time_row("mm", 100), time_row("mm", 105)), "SLOWER");
  EXPECT_EQ(time_verdict(time_row("mm", 105), time_row("mm", 100)), "FASTER");
  EXPECT_EQ(time_verdict(time_row("mm", 100), time_row("mm", 100.2)), "SAME");
  EXPECT_EQ(time_verdict(time_row("mm", 100), time_row("mm", 105, 0.2)), "INCONCLUSIVE");
  // Certain, beyond the band, but within the noise of one run.
  EXPECT_EQ(time_verdict(time_row("mm", 100), time_row("mm", 105), 0.08), "INCONCLUSIVE");
}

TEST(ComparedTimes, SpeedupIsOldOverNew) {
  const auto compared =
      compare_times(document("ab-bench", {time_row("mm", 200)}), document("ab-bench", {time_row("mm", 100)}));
  ASSERT_EQ(compared.rows.size(), 1U);
  EXPECT_DOUBLE_EQ(compared.rows[0].at("speedup").get<double>(), 2);
  EXPECT_LT(compared.rows[0].at("speedup_ci_low").get<double>(), 2);
  EXPECT_GT(compared.rows[0].at("speedup_ci_high").get<double>(), 2);
  EXPECT_EQ(compared.findings, 0U);
}

TEST(ComparedTimes, HolmOverTheRows) {
  // 5% apart with p = 0.014 of its own: enough for one row, not for twenty.
  const Row before = time_row("mm", 100, 0.0277);
  const Row after = time_row("mm", 105, 0.0277);
  EXPECT_EQ(time_verdict(before, after), "SLOWER");
  std::vector<Row> old_rows = {before};
  std::vector<Row> new_rows = {after};
  for (const char letter : std::string("abcdefghijklmnopqrs")) {
    const std::string name(1, letter);
    old_rows.push_back(time_row(name.c_str(), 100, 0.0277));
    new_rows.push_back(time_row(name.c_str(), 100, 0.0277));
  }
  const auto compared = compare_times(document("ab-bench", old_rows), document("ab-bench", new_rows));
  EXPECT_EQ(compared.comparable, 20U);
  EXPECT_EQ(compared.findings, 0U);
}

TEST(ComparedTimes, FindingsComeFirstAndTheControlIsLeftOut) {
  const auto compared =
      compare_times(document("ab-bench", {time_row("a", 100), time_row("b", 100), time_row("b", 100, 0.001, "aa")}),
                    document("ab-bench", {time_row("a", 100), time_row("b", 110), time_row("b", 150, 0.001, "aa")}));
  ASSERT_EQ(compared.rows.size(), 2U);
  EXPECT_EQ(compared.rows[0].at("op"), "b");
  EXPECT_EQ(compared.summary.at("verdicts").at("SLOWER"), 1);
  EXPECT_EQ(compared.findings, 1U);
}

TEST(ComparedTimes, MissingNumbersAreInconclusiveAndNotComparable) {
  Row without = time_row("mm", 100);
  without.erase("ns_ci_low");
  const auto compared = compare_times(document("ab-bench", {without, time_row("gone", 1)}),
                                      document("ab-bench", {time_row("mm", 200), time_row("added", 1)}));
  EXPECT_EQ(only_verdict(compared), "INCONCLUSIVE");
  EXPECT_EQ(compared.comparable, 0U);
  EXPECT_EQ(compared.summary.at("only_old"), 1);
  EXPECT_EQ(compared.summary.at("only_new"), 1);
  EXPECT_FALSE(median_time(time_row("zero", 0)).has_value());
}

Row check_row(const char* verdict, const char* reason = nullptr, bool agrees = true) {
  return {{"op", "mm"},
          {"situation", "conj"},
          {"verdict", verdict},
          {"reason", reason == nullptr ? Row(nullptr) : Row(reason)},
          {"agrees", agrees}};
}

ComparedRuns checks(const Row& before, const Row& after) {
  return compare_checks(document("check-op", {before}), document("check-op", {after}));
}

TEST(ComparedChecks, OnlyChangesAreRows) {
  const auto compared = checks(check_row("full", "FP-CONJ"), check_row("full", "FP-CONJ"));
  EXPECT_TRUE(compared.rows.empty());
  EXPECT_EQ(compared.comparable, 1U);
}

TEST(ComparedChecks, Verdicts) {
  EXPECT_EQ(only_verdict(checks(check_row("fast"), check_row("full", "FP-CONJ"))), "SLOWER");
  EXPECT_EQ(only_verdict(checks(check_row("full", "FP-CONJ"), check_row("fast"))), "FASTER");
  EXPECT_EQ(only_verdict(checks(check_row("fast"), check_row("error"))), "BROKEN");
  EXPECT_EQ(only_verdict(checks(check_row("fast"), check_row("fast", nullptr, false))), "BROKEN");
  EXPECT_EQ(only_verdict(checks(check_row("full", "FP-CONJ"), check_row("full", "FP-NEG"))), "CHANGED");
  EXPECT_EQ(only_verdict(checks(check_row("unknown"), check_row("fast"))), "CHANGED");
  EXPECT_EQ(checks(check_row("fast"), check_row("full")).findings, 1U);
  EXPECT_EQ(checks(check_row("full"), check_row("fast")).findings, 0U);
}

Row case_row(const char* op, const Row& equal, const char* reason = "output 0: contents") {
  return {{"op", op},      {"case", "plain"}, {"call", 0},        {"arm_a", "native"},
          {"arm_b", "on"}, {"equal", equal},  {"reason", reason}, {"reproduce", "flagos-diag verify"}};
}

ComparedRuns verifications(std::vector<Row> before, std::vector<Row> after) {
  return compare_verifications(document("verify", std::move(before), {{"cases", 10}}),
                               document("verify", std::move(after), {{"cases", 10}}));
}

TEST(ComparedVerifications, ACaseThatIsNotListedIsEqual) {
  const auto worse = verifications({}, {case_row("mm", false)});
  EXPECT_EQ(only_verdict(worse), "NEWLY_DIFFERENT");
  EXPECT_EQ(worse.findings, 1U);
  EXPECT_EQ(worse.comparable, 10U);
  const auto better = verifications({case_row("mm", false)}, {});
  EXPECT_EQ(only_verdict(better), "NEWLY_EQUAL");
  EXPECT_EQ(better.findings, 0U);
  EXPECT_EQ(better.rows[0].at("reproduce"), "flagos-diag verify");
}

TEST(ComparedVerifications, NondeterminismIsNoFinding) {
  EXPECT_TRUE(verifications({}, {case_row("mm", nullptr)}).rows.empty());
  EXPECT_TRUE(verifications({case_row("mm", true)}, {case_row("mm", nullptr)}).rows.empty());
  EXPECT_EQ(only_verdict(verifications({case_row("mm", false)}, {case_row("mm", nullptr)})), "CHANGED");
  EXPECT_EQ(only_verdict(verifications({case_row("mm", nullptr)}, {case_row("mm", false)})), "NEWLY_DIFFERENT");
}

TEST(ComparedVerifications, OtherKernelsAndOtherReasons) {
  Row kernels = case_row("mm", true);
  kernels["kernels_equal"] = false;
  EXPECT_EQ(only_verdict(verifications({}, {kernels})), "NEWLY_DIFFERENT");
  EXPECT_EQ(only_verdict(verifications({case_row("mm", false, "a")}, {case_row("mm", false, "b")})), "CHANGED");
  EXPECT_TRUE(verifications({case_row("mm", false)}, {case_row("mm", false)}).rows.empty());
}

TEST(ComparedRuns, OtherCommandsAreRefused) {
  const std::string differ = usage_error([] { compare_runs(document("verify", {}), document("check-op", {})); });
  EXPECT_NE(differ.find("verify"), std::string::npos);
  EXPECT_NE(differ.find("check-op"), std::string::npos);
  EXPECT_NE(usage_error([] { compare_runs(document("doctor", {}), document("doctor", {})); }).find("doctor"),
            std::string::npos);
}

TEST(ComparedRuns, EnvironmentsThatDiffer) {
  const Row here = {{"torch", "2.11.0"}, {"devices", {"a"}}, {"seed", 1}, {"library", "1"}};
  Row there = here;
  there["seed"] = 2;
  there["library"] = "2";
  EXPECT_TRUE(environment_differences(here, there).empty());
  there["torch"] = "2.10.0";
  there["devices"] = {"b"};
  there["cpu"] = "c";
  const std::vector<std::string> expected = {"torch (2.11.0 against 2.10.0)", R"(devices (["a"] against ["b"]))",
                                             "cpu (null against c)"};
  EXPECT_EQ(environment_differences(here, there), expected);
}

class ResultDocuments : public ::testing::Test {
 protected:
  ~ResultDocuments() override { std::filesystem::remove(file_); }

  std::string error_of(const char* text) const {
    std::ofstream(file_) << text;
    return usage_error([this] { read_document(file_); });
  }

  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("flagos-document-" + std::to_string(getpid()) + ".json");
};

TEST_F(ResultDocuments, WhatIsNoneIsNamedWithTheRemedy) {
  const char* const bad[] = {"",
                             "{",
                             "[]",
                             "7",
                             R"({"schema": "other/1"})",
                             R"({"schema": "flagos-diag/1"})",
                             R"({"schema": "flagos-diag/1", "command": "verify", "results": [1]})"};
  for (const char* text : bad) {
    const std::string error = error_of(text);
    EXPECT_NE(error.find(file_.string()), std::string::npos) << text << ": " << error;
    EXPECT_NE(error.find("--format json"), std::string::npos) << text << ": " << error;
  }
  std::filesystem::remove(file_);
  EXPECT_NE(usage_error([this] { read_document(file_); }).find("No such file"), std::string::npos);
  EXPECT_NE(usage_error([] { read_document("/tmp"); }).find("directory"), std::string::npos);
}

TEST_F(ResultDocuments, FieldsThatAreMissingAreEmpty) {
  std::ofstream(file_) << R"({"schema": "flagos-diag/1", "command": "verify", "results": [{"op": "mm"}]})";
  const ResultDocument read = read_document(file_);
  EXPECT_EQ(read.command, "verify");
  EXPECT_TRUE(read.environment.empty());
  ASSERT_EQ(read.results.size(), 1U);
  EXPECT_EQ(text_field(read.results[0], "op"), "mm");
  EXPECT_EQ(text_field(read.results[0], "case"), "");
  EXPECT_FALSE(number_field(read.results[0], "op").has_value());
}

}  // namespace
}  // namespace flagos::diag
