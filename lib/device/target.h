// Choosing the target.
#pragma once

#include "device/environment.h"
#include "device/target_constants.h"

namespace flagos::device {

// Works out the target from the environment and the process, and fills g_target. Throws c10::Error with cause and
// remedy when FLAGOS_TARGET=cuda and there is no usable CUDA device. Called once, while the library is loaded.
void choose_target(TargetChoice choice);

}  // namespace flagos::device
