#include "measure/time_share.h"

#include <algorithm>

namespace flagos::diag {
namespace {

constexpr double kBudgetOfCase = 10;  // seconds
constexpr double kBudgetOfRun = 300;
constexpr double kLeastTimeOfCase = 0.3;  // with making its arguments, trying it out and warming up

}  // namespace

double TimeShare::default_budget(size_t cases) {
  const auto count = static_cast<double>(std::max<size_t>(cases, 1));
  return std::max(std::min(kBudgetOfCase * count, kBudgetOfRun), kLeastTimeOfCase * count);
}

TimeShare::TimeShare(double budget_s, size_t cases)
    : budget_s_(budget_s > 0 ? budget_s : default_budget(cases)),
      cases_(std::max<size_t>(cases, 1)),
      cases_left_(cases) {}

double TimeShare::most_s() const { return std::max(kBudgetOfCase, budget_s_ / static_cast<double>(cases_)); }

double TimeShare::left_s() const { return budget_s_ - std::chrono::duration<double>(Clock::now() - start_).count(); }

std::optional<double> TimeShare::next(size_t count) {
  const double left = left_s();
  if (begun_ && left <= 0) {
    return std::nullopt;
  }
  begun_ = true;
  const double share = left / static_cast<double>(std::max({cases_left_, count, size_t{1}}));
  cases_left_ -= std::min(count, cases_left_);
  return std::clamp(share, std::min(kLeastShare, budget_s_), most_s());
}

}  // namespace flagos::diag
