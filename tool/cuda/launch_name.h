// What a record of CUPTI's says was launched.
#pragma once

#include <optional>

#include "cuda/cupti_library.h"
#include "cuda/kernel_sequence.h"

#if FLAGOS_DIAG_HAS_CUPTI

namespace flagos::diag {

// Nothing for a record of another kind. The text is copied.
std::optional<LaunchRecord> launch_record(const CUpti_Activity& activity);

}  // namespace flagos::diag

#endif
