#include "kernel/call_path.h"

namespace flagos::kernel {
namespace {

// Full dispatch of a call whose deciding key is flagos itself would come back here for ever.
[[noreturn]] void throw_not_boxable(const OpContext& context) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "flagos: ", context.handle.operator_name(),
      " got a flagos tensor without memory on the target (a fake, meta or otherwise storage-less tensor). Such tensors "
      "must be handled above the device's kernels; if a custom op passed it down, give that op a Meta kernel.");
}

}  // namespace

C10_NOINLINE bool takes_fast_path_slow(const OpContext& context, const boxing::Frame& frame, uint64_t effective) {
  auto& state = frame.state();
  GateDecision decision = gate_slow(context.handle, effective);
  if (decision.reason == Reason::kDevice && decision.key == c10::DispatchKey::PrivateUse1) {
    throw_not_boxable(context);
  }
  if (state.off.load(std::memory_order_relaxed) != 0) {
    decision.reason = Reason::kOff;
  } else if (context.route.load(std::memory_order_relaxed) != RouteKind::kNative) {
    decision.reason = Reason::kRoute;
  }
  if (decision.fast()) {
    count(state.hits[context.id]);
    return true;
  }
  count(state.refused[context.id * ThreadState::kReasons + static_cast<size_t>(decision.reason)]);
  return false;
}

}  // namespace flagos::kernel
