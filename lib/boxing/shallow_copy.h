// Shallow copies that change a tensor's device between flagos and the target: same storage, same version counter.
#pragma once

#include <ATen/core/Tensor.h>

namespace flagos::boxing {

// The target's view of a boxable flagos tensor; any other tensor (undefined, of another device, fake) as it is. Has no
// autograd history. For code off the hot path: each call allocates a TensorImpl.
at::Tensor as_target(const at::Tensor& tensor);

// For code that chooses a kernel by what a tensor is and never reads it: as_target(), or, of a flagos tensor that has
// no memory of the target (functional, batched, fake), a target tensor of its dtype, sizes and strides without a
// storage. Undefined for one of symbolic sizes, which such code would have to guard on, and for nested and sparse ones;
// any other tensor as it is.
at::Tensor target_stand_in(const at::Tensor& tensor);

// The flagos view of a target tensor; any other tensor as it is. Has no autograd history.
at::Tensor as_flagos(const at::Tensor& tensor);

// Has autocast for the device of `tensor`, which nobody else may hold, see it.
void add_autocast_key(const at::Tensor& tensor);

// A flagos zero tensor in the place of a target's: its storage has to say flagos (ops/zero_tensor.h).
at::Tensor flagos_zero_tensor(const at::Tensor& tensor);

}  // namespace flagos::boxing
