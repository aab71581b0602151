// FailOn: what a user calls a regression: "slower>2%".
#pragma once

#include <string>
#include <string_view>

namespace flagos::diag {

inline constexpr const char* kBaseline = "baseline";  // an arm of now against itself in an earlier run

struct FailOn {
  std::string arm = "on";
  std::string against;  // empty: off, and the baseline
  double fraction = 0;  // 0.02 for 2%

  // "slower>2%", or of one pair of arms "on/native:slower>2%", "off/baseline:slower>2%". Throws UsageError that shows
  // the form.
  static FailOn parse(std::string_view text);

  // Whether a row with these fields is such a regression: SLOWER and by more than the fraction.
  bool met_by(std::string_view row_arm, std::string_view row_against, std::string_view verdict, double ratio) const;
};

}  // namespace flagos::diag
