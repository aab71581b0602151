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
constexpr size_t kMostFreshRuns = 16;
constexpr size_t kMostSamples = 100;  // that a row keeps
constexpr size_t kQuickResamples = 200;
constexpr double kLongestSliceNs = 5e5;
constexpr double kShortestSliceNs = 3e4;
constexpr int kEmptySlices = 9;

struct Samples {
  std::vector<double> host;
  std::vector<double> device;
};

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
    sequences_[arm]->prepare(runs);
    const double extra = arms_[arm].slowdown * base_ns_;
    return timer_->time(*sequences_[arm], arms_[arm], runs, extra);
  }

  // As many runs in a row as make a slice long against the clock, the same for all arms, with time for many blocks.
  void choose_runs() {
    double slowest = 1;
    for (size_t arm = 0; arm < arms_.size(); ++arm) {
      slice(arm, 1);
      const SliceTime warm = slice(arm, kWarmUpRuns);
      const SliceTime again = slice(arm, kWarmUpRuns);
      slowest = std::max({slowest, std::min(warm.host, again.host)});
      base_ns_ = arms_[arm].redispatch.value_or(false) ? std::min(warm.host, again.host) : base_ns_;
    }
    const double blocks = static_cast<double>(design_.cycle() * arms_.size());
    const double wanted = std::clamp(options_.budget_s * 1e9 / blocks / 4, kShortestSliceNs, kLongestSliceNs);
    const size_t most = sequences_.front()->needs_fresh_arguments() ? kMostFreshRuns : timer_->most_runs();
    runs_ = std::clamp<size_t>(static_cast<size_t>(wanted / slowest), 1, most);
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
