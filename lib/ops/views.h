// View operators, never boxed.
#pragma once

namespace flagos::ops {

// Registers the view kernels. Called once, while the library is loaded.
void register_views();

}  // namespace flagos::ops
