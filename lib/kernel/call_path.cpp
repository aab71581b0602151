#include "kernel/call_path.h"

#include <c10/util/Logging.h>

#include <mutex>
#include <set>
#include <utility>

#include "redispatch/switch.h"

namespace flagos::kernel {
namespace {

// Whether full dispatch would come back here for ever: the deciding key is flagos itself, of a tensor that can't be
// boxed. The Python dispatcher, at whose key it only looks which kernel is the next key's, makes no difference.
bool comes_back(const OpContext& context, uint64_t effective, const GateDecision& decision) {
  constexpr uint64_t kPythonDispatcher = keys::bits(c10::DispatchKey::PythonDispatcher);
  const GateDecision below =
      (effective & kPythonDispatcher) == 0 ? decision : gate_slow(context.handle, effective & ~kPythonDispatcher);
  return below.reason == Reason::kDevice && below.key == c10::DispatchKey::PrivateUse1;
}

[[noreturn]] void throw_not_boxable(const OpContext& context) {
  TORCH_CHECK_NOT_IMPLEMENTED(
      false, "flagos: ", context.name,
      " got a flagos tensor without memory on the target (a fake, meta or otherwise storage-less tensor). Such tensors "
      "must be handled above the device's kernels; if a custom op passed it down, give that op a Meta kernel.");
}

// FLAGOS_LOG_DISPATCH: each way that an operator's calls are carried out, once.
void log_first(const OpContext& context, const GateDecision& decision) {
  static auto* mutex = new std::mutex();
  static auto* seen = new std::set<std::pair<uint32_t, Reason>>();
  const std::lock_guard lock(*mutex);
  if (!seen->emplace(context.id, decision.reason).second) {
    return;
  }
  if (decision.fast()) {
    LOG(WARNING) << "flagos: " << context.name << ": redispatch to " << target().dense_key;
  } else {
    LOG(WARNING) << "flagos: " << context.name << ": full dispatch, " << reason_code(decision.reason)
                 << (decision.key != c10::DispatchKey::Undefined ? c10::str(" (", decision.key, ")") : "");
  }
}

}  // namespace

C10_NOINLINE bool takes_fast_path_slow(const OpContext& context, const boxing::Frame& frame, uint64_t effective) {
  auto& state = frame.state();
  GateDecision decision = gate_slow(context.handle, effective);
  if (comes_back(context, effective, decision)) {
    if (!context.policy.reads_metadata) {
      throw_not_boxable(context);
    }
    count(state.hits[context.id]);  // the kill switch can't change it
    return true;
  }
  const uint8_t off = state.off.load(std::memory_order_relaxed);
  if ((off & redispatch_switch::kOffBit) != 0) {
    decision.reason = Reason::kOff;
  } else if (context.route.load(std::memory_order_relaxed) != RouteKind::kNative) {
    decision.reason = Reason::kRoute;
  }
  if ((off & redispatch_switch::kLogBit) != 0) {
    log_first(context, decision);
  }
  if (decision.fast()) {
    count(state.hits[context.id]);
    return true;
  }
  count(state.refused[context.id * ThreadState::kReasons + static_cast<size_t>(decision.reason)]);
  return false;
}

}  // namespace flagos::kernel
