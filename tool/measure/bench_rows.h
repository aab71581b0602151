// The rows of ab-bench: ratios of all cases judged together.
#pragma once

#include <string>
#include <vector>

#include "report/report.h"

namespace flagos::diag {

// The fields of a row, in order. Times are nanoseconds a call, on the host but for device_ns_median. A ratio is the
// arm's time over that of the arm in `against`.
inline constexpr const char* kBenchFields[] = {"op",           "case",         "arm",           "against",
                                               "ns_median",    "ns_ci_low",    "ns_ci_high",    "device_ns_median",
                                               "ratio",        "ratio_ci_low", "ratio_ci_high", "p_adjusted",
                                               "device_ratio", "verdict",      "blocks",        "note"};

// A case as it was measured; see bench().
struct BenchCase {
  std::string op;  // "add.Tensor"
  size_t call = 0;
  Row measured;
};

// A field of BenchCase::measured: the case was left out for want of time, which its note tells.
inline constexpr const char* kNotReached = "not_reached";

struct JudgedCases {
  std::vector<Row> rows;   // for each case one for native, and one for each pair of arms
  double noise_floor = 0;  // a fraction: 95 of 100 cases have an A/A difference below it; with few cases, all
};

// Adjusts the p-values over all cases, of one pair of arms at a time, and judges each ratio (Note [What is claimed]);
// the floor of a case is that of the run or what its own A/A interval reaches, whichever is greater.
JudgedCases judge(const std::vector<BenchCase>& cases, double threshold);

}  // namespace flagos::diag
