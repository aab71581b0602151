#include "measure/verdict.h"

#include <cmath>

namespace flagos::diag {
namespace {

constexpr double kSignificance = 0.05;

}  // namespace

const char* claim_name(Claim claim) noexcept {
  switch (claim) {
    case Claim::kFaster:
      return "FASTER";
    case Claim::kSlower:
      return "SLOWER";
    case Claim::kSame:
      return "SAME";
    case Claim::kInconclusive:
      break;
  }
  return "INCONCLUSIVE";
}

Claim claim_of(const RatioEstimate& estimate, double floor, double threshold) noexcept {
  const auto& [low, high] = estimate.interval;
  if (low > 1 - threshold && high < 1 + threshold) {
    return Claim::kSame;
  }
  const bool excludes_one = low > 1 || high < 1;
  if (!excludes_one || estimate.p_adjusted >= kSignificance ||
      std::abs(std::log(estimate.ratio)) <= std::log1p(floor)) {
    return Claim::kInconclusive;
  }
  return estimate.ratio > 1 ? Claim::kSlower : Claim::kFaster;
}

}  // namespace flagos::diag
