#include "ops/grid_sampler.h"

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/ops/cudnn_grid_sampler.h>

#include "boxing/shallow_copy.h"
#include "device/target_constants.h"

namespace flagos::ops {
namespace {

constexpr size_t kArguments = 5;

bool cudnn_would_sample(const at::Tensor& input, const at::Tensor& grid) {
  const at::Tensor input_stand_in = boxing::target_stand_in(input);
  const at::Tensor grid_stand_in = boxing::target_stand_in(grid);
  return input_stand_in.defined() && grid_stand_in.defined() &&
         at::native::cond_cudnn_grid_sampler(input_stand_in, grid_stand_in);
}

}  // namespace

bool run_cudnn_grid_sampler(torch::jit::Stack& stack) {
  const auto arguments = torch::jit::last(stack, kArguments);
  const at::Tensor input = arguments[0].toTensor();
  const at::Tensor grid = arguments[1].toTensor();
  const bool bilinear_zeros_aligned = arguments[2].toInt() == 0 && arguments[3].toInt() == 0 && arguments[4].toBool();
  if (target().type != c10::DeviceType::CUDA || !bilinear_zeros_aligned || !cudnn_would_sample(input, grid)) {
    return false;
  }
  at::native::check_grid_sampler_common(input, grid);
  at::Tensor sampled = at::cudnn_grid_sampler(input, grid);
  torch::jit::drop(stack, kArguments);
  torch::jit::push(stack, std::move(sampled));
  return true;
}

}  // namespace flagos::ops
