// Checks of the numbers on the command line. CLI11's own let NaN and minus signs pass, and show a range of 600 digits.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace flagos::diag {

inline constexpr double kMostNumber = 1e6;  // seconds, percent, megabytes: nobody means more
inline constexpr uint64_t kMostCount = 1000000000;

// A decimal number above 0 and up to `most`.
CLI::Validator positive_number(double most = kMostNumber);

// A whole number, in digits alone, from `least` to `most`.
CLI::Validator whole_number(uint64_t least, uint64_t most = kMostCount);

}  // namespace flagos::diag
