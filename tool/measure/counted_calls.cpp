#include "measure/counted_calls.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "flagos/redispatch.h"
#include "measure/arm.h"
#include "measure/statistics.h"

namespace flagos::diag {
namespace {

constexpr size_t kWarmUpRuns = 20;
constexpr size_t kMostRuns = 100;
constexpr size_t kMostFreshRuns = 16;
constexpr double kWanted = 5e5;  // instructions in a batch: what a counter adds of its own is no longer seen in them
constexpr int kBatches = 3;

class ArmCount {
 public:
  ArmCount(const std::vector<HostCall>& calls, const std::vector<size_t>& order, const Arm& arm,
           InstructionCounter& counter)
      : sequence_(calls, order, arm.device), arm_(arm), counter_(counter) {}

  // The median of batches. A batch of runs that do nothing is subtracted, and with it what the counting costs.
  double instructions() {
    std::optional<RedispatchGuard> guard;
    if (arm_.redispatch.has_value()) {
      guard.emplace(*arm_.redispatch);
    }
    const size_t most = sequence_.needs_fresh_arguments() ? kMostFreshRuns : kMostRuns;
    batch(std::min(kWarmUpRuns, most));
    const double first = static_cast<double>(counted(1));
    const size_t runs = std::clamp<size_t>(static_cast<size_t>(kWanted / std::max(first, 1.0)), 1, most);
    std::vector<double> counts;
    for (int i = 0; i < kBatches; ++i) {
      counts.push_back(static_cast<double>(counted(runs)) - static_cast<double>(counted_empty(runs)));
    }
    return median(counts) / static_cast<double>(runs);
  }

 private:
  void batch(size_t runs) {
    sequence_.prepare(runs);
    for (size_t i = 0; i < runs; ++i) {
      sequence_.run();
    }
  }

  // A full queue would make the host wait for the device, in a loop.
  void settle() const {
    if (!arm_.device.is_cpu()) {
      c10::impl::VirtualGuardImpl(arm_.device.type()).synchronizeDevice(arm_.device.index());
    }
  }

  uint64_t counted(size_t runs) {
    sequence_.prepare(runs);
    settle();
    return counter_.count([&] {
      for (size_t i = 0; i < runs; ++i) {
        sequence_.run();
      }
    });
  }

  uint64_t counted_empty(size_t runs) {
    return counter_.count([&] {
      for (size_t i = 0; i < runs; ++i) {
        sequence_.run_empty();
      }
    });
  }

  CallSequence sequence_;
  const Arm& arm_;
  InstructionCounter& counter_;
};

}  // namespace

Row count_instructions(const std::vector<HostCall>& calls, const std::vector<size_t>& order,
                       InstructionCounter& counter) {
  const at::NoGradGuard no_grad;
  Row counts = Row::object();
  for (const Arm& arm : make_arms({})) {
    if (arm.name != "aa") {
      counts[arm.name] = std::llround(ArmCount(calls, order, arm, counter).instructions());
    }
  }
  const auto native = counts.at("native").get<int64_t>();
  const Row over = {{"off", counts.at("off").get<int64_t>() - native}, {"on", counts.at("on").get<int64_t>() - native}};
  return {{"instructions_per_call", counts}, {"instructions_over_native", over}};
}

}  // namespace flagos::diag
