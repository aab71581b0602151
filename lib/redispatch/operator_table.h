// What the dispatcher would run for an operator at a key: a live look at its dispatch table.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace flagos {

// The dispatch table's slot for the highest key of `keys`. The reference is valid as long as the operator; what the
// slot holds changes as kernels are registered. Throws c10::Error when the operator has no kernel there.
const c10::KernelFunction& kernel_slot(const c10::OperatorHandle& op, c10::DispatchKeySet keys);

// Whether the dispatcher skips the highest key of `keys` for `op`: the op's own fallthrough kernel there, or a
// backend-wide one. Reads the table as it is now, since kernels may be registered at any time; a key without any kernel
// does not fall through. Not synchronised with registration on other threads, exactly as a dispatcher call is not.
bool falls_through(const c10::OperatorHandle& op, c10::DispatchKeySet keys);

}  // namespace flagos
