#include "report/error_text.h"

#include <c10/util/Exception.h>

namespace flagos::diag {

std::string first_line(std::string_view text) {
  const size_t start = text.find_first_not_of(" \n");
  if (start == std::string_view::npos) {
    return "";
  }
  text = text.substr(start, text.find('\n', start) - start);
  return std::string(text.substr(0, text.find("Exception raised from")));
}

std::string error_text(const std::exception& error) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&error);
  return first_line(of_torch != nullptr ? of_torch->what_without_backtrace() : error.what());
}

}  // namespace flagos::diag
