// The boxed stack fallback: operators that have no flagos kernel of their own.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace flagos::kernel {

// Note [Fallbacks]
// PyTorch asks the fallback of PrivateUse1 (and of its sparse, compressed sparse, quantized and nested kin) for every
// operator without a kernel there and without a composite one: operators outside aten, and special layouts.
//  - Where the target has a kernel, the call is boxed as any other; third-party operators work by that.
//  - An operator without an autograd kernel has, on the target, the gradients of the operators that its kernel calls
//    (PyTorch warns of it in the backward pass). Those are called on target tensors here, so that a call that autograd
//    would record has the target's graph as one node of the caller's. Not where it changes an argument or returns a
//    view: neither can be joined to the caller's graph from here.
//  - Where it has none, FLAGOS_FALLBACK=error|warn|allow decides whether the call runs on the CPU, by copies. Views,
//    factories and random numbers never do: a copy would break aliasing, and another generator's numbers are others.

// Carries a call out on target tensors, recorded as one node of the caller's graph. False, with nothing done, where
// that can't be. See ops::try_on_target().
using RecordedCall = bool (*)(const c10::OperatorHandle& op, torch::jit::Stack& stack);

// Registers the fallbacks. Called once, while the library is loaded.
void register_fallbacks(RecordedCall recorded);

// Registers a stack kernel for every operator that the target has a kernel of its own for at a special layout's key: a
// composite would else win over the fallback. Called once, while the library is loaded, after the boxed operators.
void register_special_layouts();

}  // namespace flagos::kernel
