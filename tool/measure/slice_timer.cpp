#include "measure/slice_timer.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <stdexcept>

#include "cuda/profiler_range.h"
#include "flagos/redispatch.h"

namespace flagos::diag {
namespace {

using Clock = std::chrono::steady_clock;

double ns_since(Clock::time_point start) {
  return std::chrono::duration<double, std::nano>(Clock::now() - start).count();
}

// Nanoseconds of host time for all the runs.
double run_on_host(CallSequence& sequence, const Arm& arm, size_t runs, double extra_ns) {
  const ProfilerRange range(arm.name);
  std::optional<RedispatchGuard> guard;
  if (arm.redispatch.has_value()) {
    guard.emplace(*arm.redispatch);
  }
  const auto start = Clock::now();
  for (size_t i = 0; i < runs; ++i) {
    sequence.run();
  }
  const double planted_end = ns_since(start) + extra_ns * static_cast<double>(runs);
  while (extra_ns > 0 && ns_since(start) < planted_end) {
  }
  return ns_since(start);
}

class HostTimer final : public SliceTimer {
 public:
  SliceTime time(CallSequence& sequence, const Arm& arm, size_t runs, double extra_ns) override {
    return {run_on_host(sequence, arm, runs, extra_ns) / static_cast<double>(runs), std::nullopt};
  }
  size_t most_runs() const override { return 100000; }
};

// Note [A full queue]
// The device first gets work of its own, a plug, long enough that all launches of the slice are queued before it ends.
// So the host never waits for the device, and the device, timed by events, never for the host.
class DeviceTimer final : public SliceTimer {
 public:
  explicit DeviceTimer(c10::Device target)
      : guard_(target.type()),
        target_(target),
        factor_(at::rand({kPlugSize, kPlugSize}, at::TensorOptions().device(target))) {
    plug(kWarmUp);
    settle();
    c10::Event begin = event();
    c10::Event end = event();
    begin.record(stream());
    plug(kWarmUp);
    end.record(stream());
    end.synchronize();
    plug_ns_ = begin.elapsedTime(end) * 1e6 / kWarmUp;
  }

  SliceTime time(CallSequence& sequence, const Arm& arm, size_t runs, double extra_ns) override {
    settle();
    c10::Event begin = event();
    c10::Event end = event();
    const double wanted_ns = std::min(expected_ns_ * static_cast<double>(runs) * kSpare, kLongestPlugNs);
    plug(static_cast<size_t>(std::ceil(wanted_ns / plug_ns_)));
    begin.record(stream());
    const double host = run_on_host(sequence, arm, runs, extra_ns) / static_cast<double>(runs);
    end.record(stream());
    end.synchronize();
    expected_ns_ = host;  // the first run of an operator, which loads its kernels, says nothing of the next
    return {host, begin.elapsedTime(end) * 1e6 / static_cast<double>(runs)};
  }

  void settle() override { guard_.synchronizeDevice(target_.index()); }
  size_t most_runs() const override { return 64; }

 private:
  static constexpr int64_t kPlugSize = 2048;
  static constexpr size_t kWarmUp = 8;
  static constexpr double kSpare = 1.5;
  static constexpr double kFirstGuessNs = 20000;
  static constexpr double kLongestPlugNs = 5e6;

  c10::Event event() const { return {target_.type(), c10::EventFlag::BACKEND_DEFAULT}; }
  c10::Stream stream() const { return guard_.getStream(target_); }
  void plug(size_t times) {
    for (size_t i = 0; i < times; ++i) {
      at::mm_out(product_, factor_, factor_);
    }
  }

  c10::impl::VirtualGuardImpl guard_;
  c10::Device target_;
  at::Tensor factor_;
  at::Tensor product_ = at::empty_like(factor_);
  double plug_ns_ = 1;
  double expected_ns_ = kFirstGuessNs;
};

}  // namespace

std::unique_ptr<SliceTimer> make_slice_timer(c10::Device target) {
  if (target.is_cpu()) {
    return std::make_unique<HostTimer>();
  }
  return std::make_unique<DeviceTimer>(target);
}

}  // namespace flagos::diag
