// Ctrl-C and SIGTERM: commands stop at the next chance and report what there is.
#pragma once

namespace flagos::diag {

// From now on a first SIGINT or SIGTERM sets interrupted(); a second one ends the process at once.
void catch_interrupt();
bool interrupted() noexcept;

}  // namespace flagos::diag
