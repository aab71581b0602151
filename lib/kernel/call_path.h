// The parts of a call that are the same for every operator, compiled once.
#pragma once

#include "boxing/frame.h"
#include "boxing/thread_state.h"
#include "kernel/registration.h"
#include "redispatch/gate.h"

namespace flagos::kernel {

// Decides a call that the common case did not settle, and counts it. False: full dispatch.
bool takes_fast_path_slow(const OpContext& context, const boxing::Frame& frame, uint64_t effective);

// Whether this call may jump to the target's kernel; counts the answer. Throws on mixed devices.
[[gnu::always_inline]] inline bool takes_fast_path(const OpContext& context, const boxing::Frame& frame) {
  frame.check_devices();
  const uint64_t effective = effective_keys(frame.gate_keys(), *frame.state().local_keys);
  const auto off = frame.state().off.load(std::memory_order_relaxed);
  const auto route = static_cast<uint8_t>(context.route.load(std::memory_order_relaxed));
  if (C10_LIKELY(is_fast(effective) && (off | route) == 0)) {
    count(frame.state().hits[context.id]);
    return true;
  }
  return takes_fast_path_slow(context, frame, effective);
}

inline c10::DispatchKeySet target_keys() noexcept { return {c10::DispatchKeySet::RAW, target().dense_keys}; }

// After the kernel returned: the callers' tensors get what changed.
template <bool Mutates>
void finish(boxing::Frame& frame) {
  if constexpr (Mutates) {
    frame.write_back();
  }
}

}  // namespace flagos::kernel
