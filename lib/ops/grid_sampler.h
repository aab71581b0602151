// grid_sampler by cuDNN, where a gradient is wanted.
#pragma once

#include <ATen/core/stack.h>

namespace flagos::ops {

// PyTorch's grid_sampler calls cudnn_grid_sampler, which has an autograd formula of its own, when its arguments are on
// CUDA and cuDNN has the mode. Does the same for the five arguments on `stack`, which may be flagos tensors, on the
// calling thread; false, with nothing done, where the target would not.
bool run_cudnn_grid_sampler(torch::jit::Stack& stack);

}  // namespace flagos::ops
