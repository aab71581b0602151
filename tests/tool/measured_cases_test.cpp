#include "commands/measured_cases.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace flagos::diag {
namespace {

Row no_settings(double /*case_budget_s*/) { return Row::object(); }

// A worker that answers one request, whatever it is, and ends; a second one can't be started.
WorkerCommand worker_that_starts_once(const std::filesystem::path& mark) {
  const std::string script = "mkdir " + mark.string() + " || exit 2\n" + R"(read request
printf '{"begin":"0"}\n{"row":{"situation":"0","case":"float32[1]"}}\n{"done":"aten::abs"}\n' >&4
)";
  return {{"/bin/sh", "-c", script}, 0, "", false};
}

// Half a minute: the pool tries again after pauses.
TEST(MeasuredCases, ThoseFromBeforeWorkersCouldNotBeStartedAreKept) {
  const auto mark = std::filesystem::temp_directory_path() / ("flagos-measured-" + std::to_string(getpid()));
  const std::deque<Job> jobs = {{"aten::abs", {"0"}, "bench"}, {"aten::mm", {"0", "1"}, "bench"}};
  const auto [cases, not_reached] =
      measure_cases(jobs, worker_that_starts_once(mark), 600, /*quiet=*/true, no_settings);
  std::filesystem::remove(mark);
  ASSERT_EQ(cases.size(), 3U);
  EXPECT_EQ(cases[0].op, "abs");
  EXPECT_FALSE(cases[0].measured.contains(kNotReached));
  EXPECT_EQ(not_reached.cases, 2U);
  EXPECT_EQ(not_reached.first, "mm --call 0");
  EXPECT_NE(not_reached.stopped.find("ended before its first answer"), std::string::npos) << not_reached.stopped;
  for (const size_t left : {1U, 2U}) {
    EXPECT_EQ(cases[left].measured.at("note"), "not reached: " + not_reached.stopped);
    EXPECT_EQ(cases[left].call, left - 1);
  }
  EXPECT_EQ(not_reached_text(not_reached, 3),
            "2 of 3 cases were not reached, the first is mm --call 0: " + not_reached.stopped + ".");
}

TEST(MeasuredCases, WithoutAnyItThrows) {
  EXPECT_THROW(
      measure_cases({{"aten::abs", {"0"}, "bench"}}, {{"/bin/sh", "-c", "exit 2"}, 0, "", false}, 1, true, no_settings),
      NoWorkers);
}

}  // namespace
}  // namespace flagos::diag
