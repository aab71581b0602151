// The environment variables, read once, in one place.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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
  std::string backend_config;                       // FLAGOS_BACKEND_CONFIG: a route file; empty: none
  // FLAGOS_OP_<name>=backend: what follows FLAGOS_OP_, and the backend; sorted by name.
  std::vector<std::pair<std::string, std::string>> op_routes;
};

// Reads the variables on the first call and remembers them. Throws c10::Error naming the variable, its value and the
// values it may have when one is not understood. Any thread.
const Environment& environment();

// Reads them anew; for tests and for `flagos-diag doctor`.
Environment read_environment();

// Foreign text as it can be shown: at most `limit` bytes, what is not printable ASCII replaced by '?'. Any thread.
std::string printable(std::string_view text, size_t limit = 64);

}  // namespace flagos
