// What nn.Module and `.data` ask before they let a parameter change its device.
#pragma once

namespace flagos::ops {

// Registers aten::_has_compatible_shallow_copy_type: a dense flagos tensor and a dense tensor of another device may
// take each other's place, as CPU and CUDA tensors may. TensorImpl's own list of dense backends leaves PrivateUse1 out,
// so that Module.to() would make new Parameters and untie tied weights. Called once, while the library is loaded.
void register_parameter_moves();

}  // namespace flagos::ops
