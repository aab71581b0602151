// A call whose arguments lie on a stack of IValues: the same path as Kernel's, for any schema.
#pragma once

#include <ATen/core/boxing/OperatorKernel.h>
#include <ATen/core/stack.h>
#include <c10/core/DispatchKeySet.h>

#include "kernel/registration.h"

namespace flagos::kernel {

// What the kernels of all operators have in common.
class BoxingKernel : public c10::OperatorKernel {
 public:
  explicit BoxingKernel(const OpContext& context) : context_(context) {}
  const OpContext& context() const noexcept { return context_; }

 protected:
  const OpContext& context_;
};

// Boxes the arguments on top of `stack`, calls the target's kernel (or dispatches in full, as the gate says), and
// leaves the unboxed results in their place. As for any boxed kernel, `stack` has no defined contents after an
// exception. `arrived`: the target's key that stands for the one at which the call arrived, if that says more than the
// tensors: a factory's comes from its dtype and layout.
void call_on_stack(const OpContext& context, torch::jit::Stack& stack, c10::DispatchKeySet arrived = {});

}  // namespace flagos::kernel
