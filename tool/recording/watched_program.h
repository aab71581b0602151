// A program that runs in the foreground while this one waits for it.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace flagos::diag {

using Variables = std::vector<std::pair<std::string, std::string>>;

struct ProgramEnd {
  int code = 0;    // the exit code as a shell gives it: 128 + N for signal N
  int pid = 0;     // its process id
  int signal = 0;  // the signal that ended it; 0: none
};

// Runs `program` (looked up on PATH) with `variables` set besides this process's own, and waits for it. It has the
// standard streams and the terminal. SIGINT and SIGTERM that another process sends to this one are passed on; a Ctrl-C
// reaches it from the terminal. Throws UsageError when it can't be started. Main thread only.
ProgramEnd run_program(const std::vector<std::string>& program, const Variables& variables);

}  // namespace flagos::diag
