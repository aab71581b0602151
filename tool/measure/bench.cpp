#include "measure/bench.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <memory>

#include "measure/block_design.h"
#include "measure/slice_timer.h"
#include "measure/statistics.h"

namespace flagos::diag {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kWarmUpRuns = 3;
constexpr size_t kLeastBlocks = 8;
constexpr size_t kMostBlocks = 2400;
constexpr size_t kMostFreshRuns = 512;
constexpr size_t kMostFreshBytes = size_t{64} << 20U;
constexpr size_t kMostSamples = 100;  // that a row keeps
constexpr size_t kQuickResamples = 200;
constexpr double kLongestSliceNs = 5e5;
constexpr double kShortestSliceNs = 3e4;
constexpr double kLaunchNs = 1000;      // no call that launches a kernel is shorter
constexpr size_t kMostRuns = 100000;    // of calls that launch nothing
constexpr size_t kCalibrationStep = 4;  // how much longer the next try is
constexpr int kEmptySlices = 9;

struct Samples {
  std::vector<double> host;
  std::vector<double> device;
};

// Note [Places of arguments]
// Where a tensor happens to lie makes a very short call a few percent faster or slower, always the same way in one
// process. So the arms on flagos tensors take turns with their arguments from block to block, and no arm is bound to
// a place.

class Bench {
 public:
  Bench(const std::vector<HostCall>& calls, const std::vector<size_t>& order, const BenchOptions& options)
      : options_(options), arms_(make_arms(options.arms)), design_(arms_.size(), options.seed) {
    timer_ = make_slice_timer(arms_.front().device);
    for (const Arm& arm : arms_) {
      sequences_.push_back(std::make_unique<CallSequence>(calls, order, arm.device));
    }
    samples_.resize(arms_.size());
  }

  Row measure() {
    choose_runs();
    empty_ns_ = empty_run_ns();
    do {
      for (size_t i = 0; i < std::min<size_t>(design_.cycle(), kLeastBlocks); ++i) {
        run_block();
      }
    } while (!enough());
    return described();
  }

 private:
  double elapsed_s() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

  SliceTime slice(size_t arm, size_t runs) {
    CallSequence& sequence = *sequences_[sequence_of(arm)];
    sequence.prepare(runs);
    const double extra = arms_[arm].slowdown * base_ns_;
    return timer_->time(sequence, arms_[arm], runs, extra);
  }

  // See Note [Places of arguments]; the first arm is native.
  size_t sequence_of(size_t arm) const {
    const size_t ours = arms_.size() - 1;
    return arm == 0 ? 0 : 1 + (arm - 1 + block_) % ours;
  }

  // Nanoseconds a run, warm: by slices that grow until they are long against the clock.
  double warm_ns(size_t arm, size_t most) {
    slice(arm, 1);
    for (size_t runs = std::min(kWarmUpRuns, most);; runs = std::min(most, runs * kCalibrationStep)) {
      const double ns = std::min(slice(arm, runs).host, slice(arm, runs).host);
      if (runs == most || ns * static_cast<double>(runs) >= kShortestSliceNs) {
        return ns;
      }
    }
  }

  size_t most_fresh_runs() const {
    const size_t bytes = std::max<size_t>(sequences_.front()->bytes_of_fresh_arguments(), 1);
    return std::clamp<size_t>(kMostFreshBytes / bytes, 1, kMostFreshRuns);
  }

  // As many runs in a row as make each arm's slice long against the clock, the same for all arms, with time for many
  // blocks. Calls so short that they launch nothing don't fill a device's queue.
  void choose_runs() {
    const bool fresh = sequences_.front()->needs_fresh_arguments();
    size_t most = fresh ? std::min(most_fresh_runs(), timer_->most_runs()) : timer_->most_runs();
    double slowest = 1;
    double fastest = INFINITY;
    double base = 0;
    for (size_t arm = 0; arm < arms_.size(); ++arm) {
      const double ns = std::max(warm_ns(arm, most), 1.0);
      slowest = std::max(slowest, ns);
      fastest = std::min(fastest, ns);
      base = arms_[arm].redispatch.value_or(false) ? ns : base;
    }
    base_ns_ = base;
    const double blocks = static_cast<double>(design_.cycle() * arms_.size());
    const double in_budget = std::clamp(options_.budget_s * 1e9 / blocks / 4, kShortestSliceNs, kLongestSliceNs);
    const double wanted = fresh ? kShortestSliceNs : in_budget;  // making arguments takes longer than most calls
    if (slowest < kLaunchNs) {
      most = fresh ? most_fresh_runs() : kMostRuns;
    }
    const double runs = std::max(wanted / slowest, kShortestSliceNs / fastest);
    runs_ = std::clamp<size_t>(static_cast<size_t>(std::ceil(runs)), 1, most);
  }

  double empty_run_ns() {
    double least = INFINITY;
    for (int i = 0; i < kEmptySlices; ++i) {
      const auto start = Clock::now();
      for (size_t run = 0; run < runs_; ++run) {
        sequences_.front()->run_empty();
      }
      least = std::min(least, std::chrono::duration<double, std::nano>(Clock::now() - start).count());
    }
    return least / static_cast<double>(runs_);
  }

  void run_block() {
    for (const size_t arm : design_.next()) {
      const SliceTime time = slice(arm, runs_);
      samples_[arm].host.push_back(std::max(time.host - empty_ns_, 1.0));
      if (time.device.has_value()) {
        samples_[arm].device.push_back(*time.device);
      }
    }
    ++block_;
  }

  size_t number_of(const char* name) const {
    const auto found = std::find_if(arms_.begin(), arms_.end(), [&](const Arm& arm) { return arm.name == name; });
    return static_cast<size_t>(found - arms_.begin());
  }

  std::vector<double> log_ratios(const ArmPair& pair) const {
    const auto& of_arm = samples_[number_of(pair.arm)].host;
    const auto& of_other = samples_[number_of(pair.against)].host;
    std::vector<double> logs(of_arm.size());
    std::transform(of_arm.begin(), of_arm.end(), of_other.begin(), logs.begin(),
                   [](double a, double b) { return std::log(a / b); });
    return logs;
  }

  bool enough() const {
    const size_t blocks = samples_.front().host.size();
    if (elapsed_s() >= options_.budget_s || blocks >= kMostBlocks) {
      return true;
    }
    if (blocks < design_.cycle()) {
      return false;
    }
    return std::all_of(std::begin(kArmPairs), std::end(kArmPairs), [&](const ArmPair& pair) {
      const Interval interval = bootstrap_median(log_ratios(pair), options_.seed, kQuickResamples);
      return interval.high - interval.low < options_.threshold / 2;
    });
  }

  Row described_arm(const Samples& samples) const {
    const Interval interval = bootstrap_median(samples.host, options_.seed);
    Row row = {{"ns_median", median(samples.host)}, {"ns_ci_low", interval.low}, {"ns_ci_high", interval.high}};
    row["device_ns_median"] = samples.device.empty() ? Row(nullptr) : Row(median(samples.device));
    row["samples"] = Row::array();
    const size_t step = (samples.host.size() + kMostSamples - 1) / kMostSamples;
    for (size_t i = 0; i < samples.host.size(); i += step) {
      row["samples"].push_back(std::round(samples.host[i] * 10) / 10);
    }
    return row;
  }

  Row described_pair(const ArmPair& pair) const {
    const auto logs = log_ratios(pair);
    const Interval interval = bootstrap_median(logs, options_.seed);
    Row row = {{"arm", pair.arm},
               {"against", pair.against},
               {"ratio", std::exp(median(logs))},
               {"ratio_ci_low", std::exp(interval.low)},
               {"ratio_ci_high", std::exp(interval.high)},
               {"device_ratio", nullptr},
               {"p", wilcoxon_p(logs)}};
    const auto& on_device = samples_[number_of(pair.arm)].device;
    if (!on_device.empty()) {
      row["device_ratio"] = median(on_device) / median(samples_[number_of(pair.against)].device);
    }
    return row;
  }

  Row described() const {
    Row row = {{"arms", Row::object()}, {"pairs", Row::array()}};
    for (size_t arm = 0; arm < arms_.size(); ++arm) {
      row["arms"][arms_[arm].name] = described_arm(samples_[arm]);
    }
    for (const ArmPair& pair : kArmPairs) {
      row["pairs"].push_back(described_pair(pair));
    }
    row["blocks"] = samples_.front().host.size();
    row["runs"] = runs_;
    return row;
  }

  const BenchOptions& options_;
  std::vector<Arm> arms_;
  BlockDesign design_;
  std::unique_ptr<SliceTimer> timer_;
  std::vector<std::unique_ptr<CallSequence>> sequences_;
  std::vector<Samples> samples_;
  Clock::time_point start_ = Clock::now();
  size_t runs_ = 1;
  size_t block_ = 0;
  double base_ns_ = 0;
  double empty_ns_ = 0;
};

}  // namespace

Row to_row(const BenchOptions& options) {
  return {{"same", options.arms.same},
          {"slowdown", options.arms.slowdown},
          {"budget_s", options.budget_s},
          {"threshold", options.threshold},
          {"seed", options.seed}};
}

BenchOptions bench_options(const Row& row) {
  BenchOptions options;
  options.arms.same = row.at("same").get<bool>();
  options.arms.slowdown = row.at("slowdown").get<std::map<std::string, double>>();
  options.budget_s = row.at("budget_s").get<double>();
  options.threshold = row.at("threshold").get<double>();
  options.seed = row.at("seed").get<uint64_t>();
  return options;
}

Row bench(const std::vector<HostCall>& calls, const std::vector<size_t>& order, const BenchOptions& options) {
  const at::NoGradGuard no_grad;
  return Bench(calls, order, options).measure();
}

}  // namespace flagos::diag
