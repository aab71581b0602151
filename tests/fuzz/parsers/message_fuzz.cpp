// What a worker process writes to its parent, a line at a time; see Note [Worker protocol].
#include "fuzz_target.h"
#include "isolation/worker_message.h"

namespace flagos::fuzz {

bool accepts(std::string_view input) {
  try {
    while (!input.empty()) {
      const size_t end = input.find('\n');
      diag::parse_message(input.substr(0, end));
      input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
    }
    return true;
  } catch (const diag::NoMessage& error) {
    require_clear(error.what(), "worker");
  }
  return false;
}

}  // namespace flagos::fuzz
