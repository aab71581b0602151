// What composites that ask for the device would choose on the target, done on flagos tensors.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace flagos::ops {

// For an operator of Note [Composites that ask for the device] in as_target.h whose arguments can't become target
// tensors: does what PyTorch's composite would do for a tensor of the target, with the arguments on `stack` as they
// are, so that functionalization, torch.func's transforms and autograd see it. False, with nothing done, where that is
// what it does for any device, and where such a way is not known. Throws c10::Error for what
// the target refuses and the composite would not check.
bool run_choice_of_target(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace flagos::ops
