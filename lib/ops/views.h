// View operators, never boxed.
#pragma once

#include <torch/library.h>

namespace flagos::ops {

// Registers the view kernels with `library` (namespace aten, PrivateUse1). Called once, while the library is loaded.
void register_views(torch::Library& library);

}  // namespace flagos::ops
