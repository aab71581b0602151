// What the dispatcher's tables say a call will do: the prediction that check-op holds against observation.
#pragma once

#include <ATen/core/function_schema.h>
#include <c10/core/DispatchKeySet.h>

#include "prediction/decision.h"
#include "prediction/dispatch_table.h"

namespace flagos::diag {

// Where a call enters.
enum class Entry {
  kTop,     // as programs call it: the keys above the device's kernel run first
  kKernel,  // redispatched to the device's kernel, below autograd
};

struct CallState {
  c10::DispatchKeySet keys;      // union of the key sets of the tensor arguments, as they are on flagos
  c10::DispatchKeySet included;  // by the calling thread's local state
  c10::DispatchKeySet excluded;
  c10::DispatchKey target = c10::DispatchKey::CPU;
  bool switched_off = false;  // the kill switch
  bool routed = false;        // a route sends the operator elsewhere
  Entry entry = Entry::kTop;
};

// How the operator is carried out, from what is registered for it at PrivateUse1.
KernelKind predict_kind(const DispatchTable& table, const c10::FunctionSchema& schema);

// What the boxed kernel of a call in `state` will do.
Decision predict(const DispatchTable& table, const CallState& state);

// Reason for which a kernel at `key` keeps a call from the fast path.
Reason predicted_reason(c10::DispatchKey key);

}  // namespace flagos::diag
