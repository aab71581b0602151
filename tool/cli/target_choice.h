// --target: the library chooses its target while it is loaded, so another choice takes another process image.
#pragma once

#include <string>

namespace flagos::diag {

// Runs this program again with FLAGOS_TARGET set to `target` when that is not its value yet; returns otherwise.
// Throws UsageError when the program can't be started again.
void restart_with_target(const std::string& target, char** argv);

}  // namespace flagos::diag
