// The program: from the command line to the report.
#pragma once

#include "cli/exit_code.h"

namespace flagos::diag {

// Parses, runs the command that is named and writes its report. Errors end on standard error, never in an exception.
ExitCode parse_and_run(int argc, char** argv) noexcept;

}  // namespace flagos::diag

// The program's main: a worker, where `argv` asks for one, or a command. Called by the wheel's program too, from a
// library (tool/packaged/main.cpp).
extern "C" [[gnu::visibility("default")]] int flagos_diag_main(int argc, char** argv);
