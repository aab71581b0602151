// Verdict: what may be claimed of a ratio.
#pragma once

#include "measure/statistics.h"

namespace flagos::diag {

enum class Claim { kFaster, kSlower, kSame, kInconclusive };

// "FASTER", "SLOWER", "SAME", "INCONCLUSIVE". The string is static.
const char* claim_name(Claim claim) noexcept;

// A paired ratio of times: arm over reference, 1.02 for 2% slower.
struct RatioEstimate {
  double ratio = 1;
  Interval interval{1, 1};
  double p_adjusted = 1;  // Holm, over all that was tested
};

// Note [What is claimed]
// SAME: the whole interval lies within 1 +- threshold.
// FASTER, SLOWER: the interval excludes 1, the adjusted p is below 0.05, and the ratio is further from 1 than the noise
//   floor, which is what two arms that do the same were seen to differ by in this very run.
// A difference within the threshold is SAME even when it is certain: it is too small to act on.
// `floor` and `threshold` are fractions: 0.01 for 1%.
Claim claim_of(const RatioEstimate& estimate, double floor, double threshold) noexcept;

}  // namespace flagos::diag
