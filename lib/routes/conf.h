// Route files: lines `op = backend`, `#` comments, `include other.conf`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace flagos::routing {

// One order as it was written; the names in it are not looked up yet.
struct Order {
  std::string op;
  std::string backend;
  std::string where;  // "routes.conf:3", or a variable's name
};

// Reads a route file and what it includes, in order. Throws c10::Error naming file and line for what is not understood,
// a file that can't be read, is no regular file or too large, an overlong line, and includes that are nested too deep
// or in a circle. `from`, the variable that
// names the file or "", begins the message when it is the file itself that can't be read. Any thread.
std::vector<Order> read_conf(const std::string& file, const std::string& from = "");

// `text` without blanks at its ends.
std::string_view trimmed(std::string_view text);

}  // namespace flagos::routing
