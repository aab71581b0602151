// The environment variables, read once, in one place.
#pragma once

#include <string>

namespace flagos {

enum class TargetChoice { kAuto, kCpu, kCuda };
enum class FallbackPolicy { kError, kWarn, kAllow };

// Settings from FLAGOS_* variables. Immutable after the first call of environment().
struct Environment {
  bool disabled = false;                            // FLAGOS_DISABLE: any value but "0"
  bool redispatch_off = false;                      // FLAGOS_NO_REDISPATCH: any value but "0"
  TargetChoice target = TargetChoice::kAuto;        // FLAGOS_TARGET=auto|cpu|cuda
  FallbackPolicy fallback = FallbackPolicy::kWarn;  // FLAGOS_FALLBACK=error|warn|allow
  bool log_dispatch = false;                        // FLAGOS_LOG_DISPATCH
  bool log_fallback = false;                        // FLAGOS_LOG_FALLBACK
};

// Reads the variables on the first call and remembers them. Throws c10::Error naming the variable, its value and the
// values it may have when one is not understood. Any thread.
const Environment& environment();

// Reads them anew; for tests and for `flagos-diag doctor`.
Environment read_environment();

}  // namespace flagos
