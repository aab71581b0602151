#include "cli/target_choice.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/exit_code.h"

namespace flagos::diag {

void restart_with_target(const std::string& target, char** argv) {
  const char* current = std::getenv("FLAGOS_TARGET");
  const std::string chosen = current != nullptr && *current != '\0' ? current : "auto";
  if (target.empty() || chosen == target) {
    return;
  }
  setenv("FLAGOS_TARGET", target.c_str(), 1);
  execv("/proc/self/exe", argv);
  throw UsageError(fmt::format("can't restart for --target {}: {}. Set FLAGOS_TARGET={} instead.", target,
                               std::strerror(errno), target));
}

}  // namespace flagos::diag
