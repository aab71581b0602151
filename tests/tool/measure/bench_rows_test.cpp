// Cases judged together: correction for their number, and the noise floor.
#include "measure/bench_rows.h"

#include <gtest/gtest.h>

namespace flagos::diag {
namespace {

constexpr double kThreshold = 0.01;

Row pair_row(const char* arm, const char* against, double ratio, double half_width, double p) {
  return {{"arm", arm},
          {"against", against},
          {"ratio", ratio},
          {"ratio_ci_low", ratio - half_width},
          {"ratio_ci_high", ratio + half_width},
          {"device_ratio", nullptr},
          {"p", p}};
}

// A case in which on is `ratio` of off, and aa `noise` of on.
BenchCase measured_case(double ratio, double p, double noise) {
  const Row arm = {{"ns_median", 100.0},
                   {"ns_ci_low", 99.0},
                   {"ns_ci_high", 101.0},
                   {"device_ns_median", nullptr},
                   {"samples", Row::array({100.0})}};
  BenchCase result{"add.Tensor", 0, {{"case", "float32[2]"}, {"blocks", 24}, {"runs", 10}}};
  for (const char* name : {"native", "off", "on", "aa"}) {
    result.measured["arms"][name] = arm;
  }
  result.measured["pairs"] = {pair_row("off", "native", 1.2, 0.01, 1e-6), pair_row("on", "native", 1.1, 0.01, 1e-6),
                              pair_row("on", "off", ratio, 0.005, p), pair_row("aa", "on", noise, 0.001, 0.9)};
  return result;
}

std::string on_against_off(const JudgedCases& judged, size_t at = 0) {
  for (const Row& row : judged.rows) {
    if (row.at("arm") == "on" && row.at("against") == "off" && at-- == 0) {
      return row.at("verdict").get<std::string>();
    }
  }
  return "no such row";
}

TEST(BenchRows, OneRowForNativeAndOneForEachPair) {
  const JudgedCases judged = judge({measured_case(1.05, 1e-6, 1.0)}, kThreshold);
  ASSERT_EQ(judged.rows.size(), 5U);
  EXPECT_EQ(judged.rows[0].at("arm"), "native");
  EXPECT_TRUE(judged.rows[0].at("verdict").is_null());
  EXPECT_EQ(on_against_off(judged), "SLOWER");
  for (const char* field : kBenchFields) {
    EXPECT_TRUE(judged.rows[3].contains(field)) << field;
  }
}

TEST(BenchRows, SignificanceIsCorrectedForTheNumberOfCases) {
  std::vector<BenchCase> cases(10, measured_case(1.05, 0.02, 1.0));
  EXPECT_EQ(on_against_off(judge({cases.front()}, kThreshold)), "SLOWER");
  EXPECT_EQ(on_against_off(judge(cases, kThreshold)), "INCONCLUSIVE");
}

TEST(BenchRows, WhatWasNotMeasuredIsNotCorrectedFor) {
  std::vector<BenchCase> cases(10, BenchCase{"mm", 0, {{"case", ""}, {"note", "not reached"}}});
  cases.insert(cases.begin() + 5, measured_case(1.05, 0.02, 1.0));
  EXPECT_EQ(on_against_off(judge(cases, kThreshold)), "SLOWER");
}

TEST(BenchRows, NothingBelowTheNoiseOfTheRunIsClaimed) {
  const JudgedCases judged = judge({measured_case(1.05, 1e-9, 1.0), measured_case(1.2, 1e-9, 1.08)}, kThreshold);
  EXPECT_NEAR(judged.noise_floor, 0.08, 1e-9);
  EXPECT_EQ(on_against_off(judged, 0), "INCONCLUSIVE");
  EXPECT_EQ(on_against_off(judged, 1), "SLOWER");
}

TEST(BenchRows, ACaseThatCouldNotBeMeasuredSaysWhy) {
  const JudgedCases judged = judge({{"mm", 2, {{"case", ""}, {"note", "the process died: SIGSEGV"}}}}, kThreshold);
  ASSERT_EQ(judged.rows.size(), 1U);
  EXPECT_EQ(judged.rows[0].at("verdict"), "n/a");
  EXPECT_EQ(judged.rows[0].at("note"), "the process died: SIGSEGV");
  EXPECT_EQ(judged.rows[0].at("call"), 2);
}

}  // namespace
}  // namespace flagos::diag
