// _efficientzerotensor.
#pragma once

namespace flagos::ops {

// Registers the factory of efficient zero tensors: no memory, and a storage that says flagos. PyTorch has view kernels
// of its own for such tensors (DispatchKey::ZeroTensor), which take the view's device from the storage. Called once,
// while the library is loaded.
void register_zero_tensor();

}  // namespace flagos::ops
