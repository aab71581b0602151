// Composites that hand their work to cuDNN on CUDA, where a gradient is wanted.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>

namespace flagos::ops {

// Note [cuDNN with gradients]
// lstm, gru, rnn_*, grid_sampler call an operator of cuDNN's (_cudnn_rnn, cudnn_grid_sampler), which has an autograd
// formula of its own, when their argument is on CUDA. On flagos tensors the same choice is made here and the same
// operator called, boxed like any other: through the dispatch stubs that libtorch_cuda fills, which take any tensors.
// With dropout between the layers in training the stubs keep its random state in a tensor that native calls share; the
// composite's other path runs then.

// Runs `op` with the arguments on `stack` so, on the calling thread. False, with nothing done, for other operators, for
// what the target would not give to cuDNN, and for tensors that are fake or wrapped.
bool run_with_cudnn(const c10::OperatorHandle& op, torch::jit::Stack& stack);

}  // namespace flagos::ops
