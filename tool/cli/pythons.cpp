#include <cstdlib>
#include <string_view>

#include "cli/build_places.h"

namespace flagos::diag {

std::vector<std::string> pythons() {
  const char* chosen = std::getenv("FLAGOS_DIAG_PYTHON");
  std::vector<std::string> found;
  for (const char* python : {chosen == nullptr ? "" : chosen, build_places().python, "python3"}) {
    if (!std::string_view(python).empty()) {
      found.emplace_back(python);
    }
  }
  return found;
}

}  // namespace flagos::diag
