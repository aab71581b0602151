// scaled_dot_product_attention by the target's own choice of backend.
#pragma once

namespace flagos::ops {

// Note [Attention]
// PyTorch's composite asks a dispatch stub (ATen/native/transformers/attention.h) which backend to use, and has an
// entry for PrivateUse1 there. Ours asks the target. Every choice but one then runs as on the target, gradients
// included: the composite calls the flash kernel only for the device types it knows, so on CUDA that choice is answered
// with "overrideable", PyTorch's hook for devices out of tree, whose operator calls the flash kernel with the same
// padding.

// Registers both. Called once, while the library is loaded.
void register_attention();

}  // namespace flagos::ops
