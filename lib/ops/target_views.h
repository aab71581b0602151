// Operators of the library's own with which compiled code changes the device of tensors at its boundary.
#pragma once

namespace flagos::ops {

// Defines flagos::_to_target and flagos::_from_target. Called once, while the library is loaded.
void register_target_views();

}  // namespace flagos::ops
