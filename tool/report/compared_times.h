// Times of two ab-bench runs, compared.
#pragma once

#include <optional>
#include <vector>

#include "measure/verdict.h"
#include "report/matched_rows.h"
#include "report/result_document.h"

namespace flagos::diag {

// Note [Comparing medians of two runs]
// A run knows each arm's median and its 95% interval, not how the two runs vary together. The logarithm of a median is
// taken as normal, its deviation read from the width of the interval, and the runs as independent; then the logarithm
// of new/old is normal with the sum of the variances. Holm's correction covers all rows of the comparison.
// Verdicts are ab-bench's (Note [What is claimed]), with the threshold as the least noise floor: two runs differ by
// more than two arms of one run do.

// A difference within this share is none: SAME needs the whole interval inside it.
inline constexpr double kSameWithin = 0.01;

struct MedianTime {
  double ns = 0;
  double ci_low = 0;  // 95%
  double ci_high = 0;
};

// The row's ns_median and interval; nullopt when one is missing or they are no positive interval.
std::optional<MedianTime> median_time(const Row& row);

// Of the new median to the old one, as ab-bench's ratios: above 1 is slower. p is that of a ratio of 1, two-sided, not
// adjusted. The arguments must be those of median_time().
RatioEstimate ratio_between(const MedianTime& before, const MedianTime& after);

// One row for each op, case and arm that both have, findings first; the control arm "aa" is left out.
ComparedRuns compare_times(const ResultDocument& before, const ResultDocument& after);

}  // namespace flagos::diag
