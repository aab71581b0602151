// Composite operators that branch on the device type, run whole on the target.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace flagos::ops {

// Note [Composites that ask for the device]
// Some CompositeImplicit operators (lstm, batch_norm, ctc_loss, ...) look at the device type of their
// arguments and take another path for a device they don't know: other kernels, other rounding, or an operator that the
// target lacks. For those the whole composite runs on target tensors, and what it records for autograd is one node of
// the caller's graph: target_graph.h.
//  - Not for fake or wrapped tensors, under a mode, or with forward-mode tangents: then PyTorch's composite runs on the
//    flagos tensors as it would without us, but for what is known of the target's branch: choice_of_target.h.

// Calls `op` on the target's views of the flagos tensors among the arguments on top of `stack`, and leaves the results'
// flagos views in their place; autograd gets one node. False, with nothing done, where the Note says not.
bool try_on_target(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// Registers the operators. Called once, while the library is loaded.
void register_as_target();

}  // namespace flagos::ops
