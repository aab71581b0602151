// Standard input, output and error as a program may find them: closed, full, a pipe that nobody reads.
#pragma once

namespace flagos::diag {

// Opens /dev/null for those of the three that are closed, in the direction in which using it fails. Else the next file
// that is opened takes the number, and what is printed ends up in it. To be called first in main().
void open_closed_streams() noexcept;

// Whether all that was printed to standard output has arrived there. Flushes it.
bool output_arrived() noexcept;

}  // namespace flagos::diag
