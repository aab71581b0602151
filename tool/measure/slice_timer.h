// SliceTimer: the time of a slice, some runs of one arm in a row.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>

#include <cstddef>
#include <memory>
#include <optional>

#include "measure/arm.h"
#include "measure/call_sequence.h"

namespace flagos::diag {

// Nanoseconds a run.
struct SliceTime {
  double host = 0;
  std::optional<double> device;  // on CUDA
};

class SliceTimer {
 public:
  virtual ~SliceTimer() = default;
  SliceTimer() = default;
  SliceTimer(const SliceTimer&) = delete;
  SliceTimer& operator=(const SliceTimer&) = delete;
  SliceTimer(SliceTimer&&) = delete;
  SliceTimer& operator=(SliceTimer&&) = delete;

  // Runs `sequence` `runs` times, on the calling thread. `extra_ns`, of busy waiting, is added to each.
  virtual SliceTime time(CallSequence& sequence, const Arm& arm, size_t runs, double extra_ns) = 0;
  // Waits until the device is done.
  virtual void settle() {}
  // The most runs whose launches the queue of the device holds.
  virtual size_t most_runs() const = 0;
};

// For the target's device, which may be the CPU.
std::unique_ptr<SliceTimer> make_slice_timer(c10::Device target);

}  // namespace flagos::diag
