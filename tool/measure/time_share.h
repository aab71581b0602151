// TimeShare: the time of a run, shared between its cases.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>

namespace flagos::diag {

// Note [Time of a run]
// A case gets an equal share of the time that is left when it begins, so what a case that ends early leaves goes to the
// others, and what a slow one takes is taken from them; never more than most_s(). A share is never below kLeastShare,
// for with less nothing could be claimed of the case; so a run of many cases may end before it reaches all, and those
// it didn't are told.
inline constexpr double kLeastShare = 0.1;  // seconds

class TimeShare {
 public:
  using Clock = std::chrono::steady_clock;

  // `budget_s` seconds from now for `cases`. 0: what default_budget() says.
  TimeShare(double budget_s, size_t cases);

  // Seconds for each of the next `count` cases, which are to begin now; nothing when the time is spent. The first ones
  // of a run always get some.
  std::optional<double> next(size_t count);

  double budget_s() const { return budget_s_; }
  // The most that one case gets: 10 s, or its share of the whole budget when that is more.
  double most_s() const;

  // 10 s a case and 300 s at most, but time enough to reach every case.
  static double default_budget(size_t cases);

 private:
  double left_s() const;

  double budget_s_;
  size_t cases_;
  size_t cases_left_;
  bool begun_ = false;
  Clock::time_point start_ = Clock::now();
};

}  // namespace flagos::diag
