// Difference: how two runs of one call differ.
#pragma once

#include <optional>
#include <string>

namespace flagos::diag {

struct Difference {
  std::string reason;                  // "output 0: strides [1, 2] against [2, 1]"
  std::optional<double> max_abs_diff;  // of contents; none where no pair of elements is comparable (NaN)
  std::string first_diff;              // of contents: index, bits and values; else empty
  bool rounding = false;               // of floating contents: no more than another order of a sum explains
};

}  // namespace flagos::diag
