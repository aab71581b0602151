#include "ops/batch_norm.h"

#include <ATen/ATen.h>
#include <ATen/native/Normalization.h>

#include "boxing/shallow_copy.h"
#include "device/target_constants.h"

namespace flagos::ops {
namespace {

at::Tensor seen(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() ? boxing::target_stand_in(*tensor) : at::Tensor();
}

std::optional<at::Tensor> contiguous(const std::optional<at::Tensor>& tensor) {
  return tensor.has_value() && tensor->defined() ? std::optional(tensor->contiguous()) : tensor;
}

}  // namespace

bool batch_norm_uses_cudnn(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                           const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                           const std::optional<at::Tensor>& running_var, bool training, double eps) {
  if (!target().has_index) {
    return false;
  }
  const at::Tensor stand_in = boxing::target_stand_in(input);
  return stand_in.defined() && at::native::_select_batch_norm_backend(stand_in, seen(weight), seen(bias),
                                                                      seen(running_mean), seen(running_var), training,
                                                                      eps) == at::native::BatchNormBackend::Cudnn;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, int64_t> cudnn_batch_norm(
    const at::Tensor& input, const std::optional<at::Tensor>& weight, const std::optional<at::Tensor>& bias,
    const std::optional<at::Tensor>& running_mean, const std::optional<at::Tensor>& running_var, bool training,
    double momentum, double eps) {
  constexpr int64_t kCudnn = 1;  // what _batch_norm_impl_index reports for cuDNN
  auto [output, mean, variance, reserve] = at::cudnn_batch_norm(
      input.contiguous(input.suggest_memory_format()), weight.value_or(at::Tensor()).contiguous(), contiguous(bias),
      contiguous(running_mean), contiguous(running_var), training, momentum, eps);
  return {output, mean, variance, reserve, kCudnn};
}

}  // namespace flagos::ops
