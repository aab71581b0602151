// The arguments of a call in a few words.
#pragma once

#include <string>

#include "situations/argument_tensors.h"

namespace flagos::diag {

// "float32[4,4], list of 3 float32[2], 1": tensors by dtype and sizes, numbers as they are; at most 60 characters, what
// is more ends in "...". Arguments that say little (None, False, devices) are left out.
std::string argument_text(const Stack& arguments);

}  // namespace flagos::diag
