#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <stdexcept>

namespace flagos::diag {
namespace {

constexpr size_t kMostExact = 50;

// Reorders `values`.
double median_in_place(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 != 0) {
    return *middle;
  }
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

// Linear between neighbours, as numpy's default. `sorted` is not empty.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

struct SignedRanks {
  double positive = 0;  // sum of the ranks of positive values
  size_t count = 0;     // of values other than zero
  double ties = 0;      // sum of t^3 - t over groups of t equal magnitudes
};

SignedRanks signed_ranks(const std::vector<double>& values) {
  std::vector<double> kept;
  std::copy_if(values.begin(), values.end(), std::back_inserter(kept), [](double value) { return value != 0; });
  std::sort(kept.begin(), kept.end(), [](double a, double b) { return std::abs(a) < std::abs(b); });
  SignedRanks ranks;
  ranks.count = kept.size();
  for (size_t first = 0; first < kept.size();) {
    size_t end = first + 1;
    while (end < kept.size() && std::abs(kept[end]) == std::abs(kept[first])) {
      ++end;
    }
    const double rank = static_cast<double>(first + end + 1) / 2;  // the mean of ranks first + 1 to end
    for (size_t i = first; i < end; ++i) {
      ranks.positive += kept[i] > 0 ? rank : 0;
    }
    const auto tied = static_cast<double>(end - first);
    ranks.ties += tied * tied * tied - tied;
    first = end;
  }
  return ranks;
}

// Counts the subsets of ranks 1..n by their sum.
double exact_p(const SignedRanks& ranks) {
  const size_t total = ranks.count * (ranks.count + 1) / 2;
  std::vector<double> ways(total + 1, 0);
  ways[0] = 1;
  for (size_t rank = 1; rank <= ranks.count; ++rank) {
    for (size_t sum = total; sum >= rank; --sum) {
      ways[sum] += ways[sum - rank];
    }
  }
  const double smaller = std::min(ranks.positive, static_cast<double>(total) - ranks.positive);
  const double tail =
      std::accumulate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(std::floor(smaller)) + 1, 0.0);
  return std::min(1.0, 2 * tail / std::exp2(static_cast<double>(ranks.count)));
}

double normal_p(const SignedRanks& ranks) {
  const auto n = static_cast<double>(ranks.count);
  const double mean = n * (n + 1) / 4;
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ranks.ties / 48;
  return std::erfc(std::abs(ranks.positive - mean) / std::sqrt(variance) / std::sqrt(2.0));
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) {
    throw std::invalid_argument("the median of no values");
  }
  return median_in_place(values);
}

Interval bootstrap_median(const std::vector<double>& values, uint64_t seed, size_t resamples, double confidence) {
  if (values.empty()) {
    throw std::invalid_argument("the bootstrap of no values");
  }
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<size_t> any(0, values.size() - 1);
  std::vector<double> medians(resamples);
  std::vector<double> resample(values.size());
  for (double& each : medians) {
    std::generate(resample.begin(), resample.end(), [&] { return values[any(random)]; });
    each = median_in_place(resample);
  }
  std::sort(medians.begin(), medians.end());
  const double tail = (1 - confidence) / 2;
  return {quantile(medians, tail), quantile(medians, 1 - tail)};
}

double wilcoxon_p(const std::vector<double>& values) {
  const SignedRanks ranks = signed_ranks(values);
  if (ranks.count == 0) {
    return 1;
  }
  return ranks.count <= kMostExact && ranks.ties == 0 ? exact_p(ranks) : normal_p(ranks);
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double greatest = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    greatest = std::max(greatest, std::min(1.0, p[order[i]] * static_cast<double>(p.size() - i)));
    adjusted[order[i]] = greatest;
  }
  return adjusted;
}

}  // namespace flagos::diag
