// The statistics of ab-bench, all of them robust: medians, bootstrap, ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flagos::diag {

struct Interval {
  double low = 0;
  double high = 0;
};

// The mean of the middle two for an even count. Throws std::invalid_argument for no values.
double median(std::vector<double> values);

// The percentile bootstrap interval of the median, 95% by default. The same for the same seed. Throws
// std::invalid_argument for no values.
Interval bootstrap_median(const std::vector<double>& values, uint64_t seed, size_t resamples = 1000,
                          double confidence = 0.95);

// Two-sided p of the Wilcoxon signed-rank test that the values are symmetric about zero; zeros are left out, 1 when
// nothing else is there. Exact up to 50 values without ties, else by the normal approximation with its correction for
// ties (F. Wilcoxon, 1945; as scipy.stats.wilcoxon).
double wilcoxon_p(const std::vector<double>& values);

// p-values adjusted for testing all of them (S. Holm, 1979), in the order given.
std::vector<double> holm_adjusted(const std::vector<double>& p);

}  // namespace flagos::diag
