#include "verify/repeated_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>

namespace flagos::diag {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kRepeats = 8;
constexpr size_t kManyRepeats = 200;
constexpr size_t kLeastRepeats = 2;
constexpr std::chrono::seconds kPatience(2);  // for one arm
constexpr double kNoChance = 0.001;

// The outcomes of an arm, each kind kept once.
class Tally {
 public:
  Tally(const RepeatedArm& arm, Contents contents) : arm_(arm), contents_(contents) { add(arm.first); }

  void repeat(size_t runs) {
    const auto start = Clock::now();
    for (size_t i = 0; i < runs && (i < kLeastRepeats || Clock::now() - start < kPatience); ++i) {
      add(arm_.again());
    }
  }

  size_t runs() const { return runs_; }
  size_t deviations() const {
    size_t usual = 0;
    for (const Kind& kind : kinds_) {
      usual = std::max(usual, kind.count);
    }
    return runs_ - usual;
  }
  std::string facts() const { return fmt::format("{} of {} runs of {} deviated", deviations(), runs_, arm_.name); }

 private:
  struct Kind {
    CallOutcome outcome;
    size_t count;
  };

  void add(const CallOutcome& outcome) {
    ++runs_;
    const auto known = std::find_if(kinds_.begin(), kinds_.end(), [&](const Kind& kind) {
      return !compare_outcomes(kind.outcome, outcome, contents_).has_value();
    });
    if (known != kinds_.end()) {
      ++known->count;
    } else {
      kinds_.push_back({outcome, 1});
    }
  }

  const RepeatedArm& arm_;
  Contents contents_;
  size_t runs_ = 0;
  std::vector<Kind> kinds_;
};

}  // namespace

double chance_of_one_side(size_t deviations, size_t runs, size_t others) {
  double chance = 1;
  for (size_t i = 0; i < deviations; ++i) {
    chance *= static_cast<double>(runs - i) / static_cast<double>(runs + others - i);
  }
  return chance;
}

Repeats repeat_arms(const std::vector<RepeatedArm>& arms, Contents contents) {
  std::vector<Tally> tallies;
  for (const RepeatedArm& arm : arms) {
    tallies.emplace_back(arm, contents).repeat(kRepeats);
  }
  Tally& native = tallies.front();
  size_t deviations = 0;
  size_t runs = 0;
  std::for_each(tallies.begin() + 1, tallies.end(), [&](const Tally& other) {
    deviations += other.deviations();
    runs += other.runs();
  });
  if (native.deviations() == 0 && deviations > 0) {
    native.repeat(kManyRepeats);
  }
  Repeats repeats;
  repeats.steady = native.deviations() + deviations == 0;
  repeats.nondeterministic =
      native.deviations() > 0 || (deviations > 0 && chance_of_one_side(deviations, runs, native.runs()) >= kNoChance);
  std::vector<std::string> facts;
  for (const Tally& tally : tallies) {
    facts.push_back(tally.facts());
  }
  repeats.facts = fmt::format("{}", fmt::join(facts, ", "));
  return repeats;
}

}  // namespace flagos::diag
