// The fused LSTM and GRU cells, for a target that lacks them.
#pragma once

namespace flagos::ops {

// PyTorch's composite takes the fused cells for any PrivateUse1 tensor, and the CPU has none. Where the composite can't
// run whole on the target (as_target.h: while functionalizing, under a TorchDispatchMode), these kernels compute the
// same cells from elementwise operators of the target, in the layout of workspace that the CUDA kernels have. Does
// nothing for a target that has the kernels. Called once, while the library is loaded.
void register_rnn_cells();

}  // namespace flagos::ops
