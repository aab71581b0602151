// The program without its workers: from the command line to the report.
#pragma once

#include "cli/exit_code.h"

namespace flagos::diag {

// Parses, runs the command that is named and writes its report. Errors end on standard error, never in an exception.
ExitCode parse_and_run(int argc, char** argv) noexcept;

}  // namespace flagos::diag
