// The environment in which each Python records itself.
#pragma once

#include <filesystem>

#include "recording/watched_program.h"

namespace flagos::diag {

// Has each Python of a program run hook/sitecustomize.py, and write to `folder`. Throws UsageError when the hook is not
// beside this program.
Variables recorder_variables(const std::filesystem::path& folder);

}  // namespace flagos::diag
