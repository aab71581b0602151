// PrivateUse1HooksInterface of flagos: what generic code of PyTorch asks a device for.
#pragma once

#include <ATen/detail/PrivateUse1HooksInterface.h>

namespace flagos::device {

// The hooks object; lives for the whole process. Its methods may be called from any thread.
at::PrivateUse1HooksInterface* hooks();

}  // namespace flagos::device
