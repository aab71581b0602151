#include "ops/grid_sampler.h"

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/cudnn_grid_sampler.h>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"
#include "device/target_constants.h"

namespace flagos::ops {
namespace {

constexpr size_t kArguments = 5;

bool can_be_boxed(const at::Tensor& tensor) {
  return tensor.defined() && boxing::is_boxable(*tensor.unsafeGetTensorImpl());
}

}  // namespace

bool run_cudnn_grid_sampler(torch::jit::Stack& stack) {
  const auto arguments = torch::jit::last(stack, kArguments);
  const at::Tensor input = arguments[0].toTensor();
  const at::Tensor grid = arguments[1].toTensor();
  const bool bilinear_zeros_aligned = arguments[2].toInt() == 0 && arguments[3].toInt() == 0 && arguments[4].toBool();
  if (target().type != c10::DeviceType::CUDA || !bilinear_zeros_aligned || !can_be_boxed(input) ||
      !can_be_boxed(grid) || !at::native::cond_cudnn_grid_sampler(boxing::as_target(input), boxing::as_target(grid))) {
    return false;
  }
  at::native::check_grid_sampler_common(input, grid);
  at::Tensor sampled = at::cudnn_grid_sampler(input, grid);
  torch::jit::drop(stack, kArguments);
  torch::jit::push(stack, std::move(sampled));
  return true;
}

}  // namespace flagos::ops
