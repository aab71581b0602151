// Another kernel in the place of flagos' own, for a time.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>

namespace flagos::kernel {

// Note [Replacing a kernel]
// c10 warns when a kernel is registered over another at the same key, and says so once in a process: to swallow that
// warning would take it from someone who needs it. So flagos' own registration is taken back first and made again
// afterwards; between the two the operator is without a kernel and its calls go by the boxed fallback. If anyone else
// has registered a kernel there, that one is overridden, and c10 says so; it stays overridden when flagos' own returns.
// The dispatcher writes its table without a lock that calls would take: no other thread may call the operator
// meanwhile. A call that still runs on a kernel that was replaced is safe: kernels are kept, each at the cost of a few
// hundred bytes. A kernel that is always the same is therefore made once (replace_kernel_again).

// Registers `kernel` for `op` at PrivateUse1 in place of flagos' own kernel and of an earlier replacement. `debug` says
// who did it, where the dispatcher shows registrations.
void replace_kernel(const c10::OperatorHandle& op, c10::KernelFunction kernel, std::string debug);

// Does the same with the kernel that an earlier call registered for `op` under that `debug`. False, and nothing done,
// when there was none.
bool replace_kernel_again(const c10::OperatorHandle& op, const std::string& debug);

// Registers `kernel` for the operator `name` ("aten::batch_norm") at `key`, until the process ends: one that stands for
// a composite and is never boxed. Called while the library is loaded.
void register_composite(const c10::OperatorName& name, c10::DispatchKey key, c10::KernelFunction kernel);

// Puts flagos' own kernel back; nothing happens when it was not replaced.
void restore_kernel(const c10::OperatorHandle& op);

}  // namespace flagos::kernel
