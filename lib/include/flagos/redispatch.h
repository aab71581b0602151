// The redispatch fast path: its gate, the reasons for a refusal, and the kill switch.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKeySet.h>

#include <cstdint>

#include "flagos/export.h"

namespace flagos {

// Why a boxed call did not take the fast path. The codes are stable; new ones are added before kCount.
enum class Reason : uint8_t {
  kNone,           // fast path taken
  kConj,           // FP-CONJ            a lazily conjugated argument (DispatchKey::Conjugate)
  kNeg,            // FP-NEG             a lazily negated argument (DispatchKey::Negative)
  kZero,           // FP-ZERO            an efficient zero tensor (DispatchKey::ZeroTensor)
  kFunctionalize,  // FP-FUNCTIONALIZE   a functionalization wrapper or mode
  kVmap,           // FP-VMAP            a batched tensor, or another functorch level
  kPython,         // FP-PYTHON          a Python tensor subclass or TorchDispatchMode
  kAutograd,       // FP-AUTOGRAD        autograd or ADInplaceOrView has not run yet
  kAutocast,       // FP-AUTOCAST        an autocast key is active
  kOther,          // FP-OTHER(key)      any other key above Dense
  kOff,            // FP-OFF             the kill switch
  kRoute,          // FP-ROUTE           a route sends this op elsewhere
  kNoKernel,       // FP-NOKERNEL        the target has no kernel for this op
  kDevice,         // FP-DEVICE          an argument's backend outranks the target's
  kCount,
};

// "FP-CONJ" and so on; "" for kNone. The string is static; any thread.
FLAGOS_API const char* reason_code(Reason reason) noexcept;

// One sentence on what the reason means and what a user can do. The string is static; any thread.
FLAGOS_API const char* reason_help(Reason reason) noexcept;

// What the gate decided. `key` is the dispatch key that decided a refusal, Undefined when no key did.
struct GateDecision {
  Reason reason = Reason::kNone;
  c10::DispatchKey key = c10::DispatchKey::Undefined;
  bool fast() const noexcept { return reason == Reason::kNone; }
};

// Asks the gate what it would decide for a call of `op`, on the calling thread's dispatch state, whose *boxed* tensor
// arguments have the union of key sets `keys` (see boxed_key_set). Counts nothing and calls nothing. Any thread.
FLAGOS_API GateDecision gate(const c10::OperatorHandle& op, c10::DispatchKeySet keys);

// The key set that a flagos tensor's boxed alias has: PrivateUse1 becomes the target, Autocast keys go. Any thread.
FLAGOS_API c10::DispatchKeySet boxed_key_set(c10::DispatchKeySet keys) noexcept;

// Process-wide kill switch. Starts disabled when FLAGOS_NO_REDISPATCH is set to anything but "0". Off changes no
// result, only the way to the kernel. Any thread; calls that already passed the gate are not affected.
FLAGOS_API void set_redispatch_enabled(bool enabled) noexcept;
FLAGOS_API bool redispatch_enabled() noexcept;

// Sets the switch for the calling thread, overriding the process-wide one, until destroyed. Guards nest; a guard
// must be destroyed on the thread that made it, in reverse order (it can't be copied or moved for that reason).
class [[nodiscard]] FLAGOS_API RedispatchGuard {
 public:
  explicit RedispatchGuard(bool enabled) noexcept;
  ~RedispatchGuard();
  RedispatchGuard(const RedispatchGuard&) = delete;
  RedispatchGuard& operator=(const RedispatchGuard&) = delete;
  RedispatchGuard(RedispatchGuard&&) = delete;
  RedispatchGuard& operator=(RedispatchGuard&&) = delete;

 private:
  uint8_t previous_;
};

}  // namespace flagos
