// dropout as the CPU does it.
#pragma once

namespace flagos::ops {

// PyTorch's dropout calls the fused native_dropout for a PrivateUse1 tensor and for one on CUDA, and multiplies with a
// scaled mask on the CPU, which rounds otherwise below float32. With the CPU target it does that here too. Called once,
// while the library is loaded.
void register_dropout();

}  // namespace flagos::ops
