// Exit codes, and the errors that lead to them.
#pragma once

#include <stdexcept>

namespace flagos::diag {

enum class ExitCode {
  kAsHoped = 0,
  kFinding = 1,  // a mismatch, a regression past --fail-on
  kUsage = 2,    // the command line or the environment
  kInconclusive = 3,
  kInterrupted = 130,  // Ctrl-C: 128 + SIGINT
};

// The command line or the environment is at fault: exit code 2. The text says what to do.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace flagos::diag
