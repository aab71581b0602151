// Autocast for device type "flagos".
#pragma once

namespace flagos::ops {

// Registers the AutocastPrivateUse1 kernels, from PyTorch's own lists (ATen/autocast_mode.h), and a fallthrough for
// every other operator. Autocast of the target's device type leaves flagos tensors alone. Called once, while the
// library is loaded.
void register_autocast();

}  // namespace flagos::ops
