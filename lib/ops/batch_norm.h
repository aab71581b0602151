// batch_norm in training on CUDA, by cuDNN where the target would choose it.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <tuple>

namespace flagos::ops {

// Whether aten::_batch_norm_impl_index, on the target, would choose cuDNN. False on the CPU target.
bool batch_norm_uses_cudnn(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                           const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                           const std::optional<at::Tensor>& running_var, bool training, double eps);

// _batch_norm_impl_index by cuDNN, on flagos tensors, so that autograd records cudnn_batch_norm as on CUDA.
std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, int64_t> cudnn_batch_norm(
    const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var, bool training,
    double momentum, double eps);

}  // namespace flagos::ops
