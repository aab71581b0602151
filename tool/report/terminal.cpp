#include "report/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace flagos::diag {

bool is_terminal(int fd) { return isatty(fd) == 1; }

bool use_color(ColorChoice choice, int fd) {
  const char* no_color = std::getenv("NO_COLOR");
  const char* term = std::getenv("TERM");
  const bool refused =
      (no_color != nullptr && *no_color != '\0') || (term != nullptr && std::string_view(term) == "dumb");
  // The contract has the environment win over `always`.
  return !refused && (choice == ColorChoice::kAlways || (choice == ColorChoice::kAuto && is_terminal(fd)));
}

size_t terminal_width(int fd) {
  winsize size{};
  return is_terminal(fd) && ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace flagos::diag
