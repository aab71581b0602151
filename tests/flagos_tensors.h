// Tensors on the device under test, and back.
#pragma once

#include <ATen/ATen.h>

namespace flagos::testing {

inline at::TensorOptions on_flagos() { return at::TensorOptions().device(at::Device(at::kPrivateUse1, 0)); }
inline at::Tensor host(const at::Tensor& x) { return x.to(at::kCPU); }
// float32, 0 to n - 1.
inline at::Tensor iota(int64_t n) { return at::arange(n, on_flagos().dtype(at::kFloat)); }

}  // namespace flagos::testing
