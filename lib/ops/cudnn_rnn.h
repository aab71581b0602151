// lstm, gru, rnn_tanh and rnn_relu by cuDNN, under functionalization.
#pragma once

#include <ATen/core/operator_name.h>
#include <ATen/core/stack.h>

namespace flagos::ops {

// PyTorch's lstm.input and its kin hand tensors of CUDA that cuDNN accepts to a function in libtorch_cuda, which
// prepares the weights and calls _cudnn_rnn. Does the same for the arguments of `op` on `stack`, tensors of flagos in
// functionalization's wrappers; _cudnn_rnn comes to the device later, without them. False, with nothing done, for other
// operators and tensors, and where the target would not. Tensors without a wrapper run whole on the target
// (as_target.h).
bool run_cudnn_rnn(const c10::OperatorName& op, torch::jit::Stack& stack);

}  // namespace flagos::ops
