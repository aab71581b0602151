// What the counters say of a real call in a situation.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string>

#include "prediction/decision.h"
#include "prediction/prediction.h"
#include "situations/scene.h"

namespace flagos::diag {

// Note [Two calls]
// PyTorch deals with conj, neg, zero tensors, functionalization, vmap and Python modes above the device's kernels: a
// normal call of the operator reaches the flagos kernel with plain tensors, and fast hits there are right. Whether the
// gate refuses when such a tensor does arrive is seen by a second call, the arrival: the operator redispatched to
// PrivateUse1 below autograd, as a kernel does that redispatches past those keys.

struct CallCounts {
  uint64_t calls = 0;
  uint64_t hits = 0;
  Reason refused = Reason::kNone;  // the most frequent reason, kNone when nothing was refused
};

struct Observation {
  CallCounts counts;
  std::optional<std::string> error;  // what the call threw
  std::optional<GateDecision> gate;  // arrival only: what the gate says of the same call
  CallState state;                   // of the dispatcher, as the call began
};

// The text of what a call threw. In the Python worker, an error that Python code raised stays set in the interpreter
// after it has become a C++ exception, and would be taken for the next call's: this clears it. (The tool doesn't link
// Python; in that worker it is there.)
std::string call_error_text(const std::exception& error);

// Calls the operator through the dispatcher. Consumes the scene's arguments.
Observation observe_normal_call(const c10::OperatorHandle& op, Scene& scene);

// Hands the arguments to the flagos kernel as they are. Consumes the scene's arguments.
Observation observe_arrival(const c10::OperatorHandle& op, Scene& scene);

// The decision that the counters tell; `key` is the gate's own account, since counters name none.
Decision decision_of(const Observation& observation);

}  // namespace flagos::diag
