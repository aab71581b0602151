#include "cli/number_checks.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string>
#include <system_error>

#include "report/foreign_text.h"

namespace flagos::diag {

CLI::Validator positive_number(double most) {
  return {[most](const std::string& text) {
            char* end = nullptr;
            const double number = std::strtod(text.c_str(), &end);
            const bool whole = !text.empty() && end == text.c_str() + text.size();
            return whole && std::isfinite(number) && number > 0 && number <= most
                       ? std::string()
                       : fmt::format("a number above 0, up to {:.0f}, is needed; '{}' is none", most,
                                     foreign_text(text));
          },
          ""};
}

CLI::Validator whole_number(uint64_t least, uint64_t most) {
  return {[least, most](const std::string& text) {
            uint64_t number = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
            const bool whole = error == std::errc() && end == text.data() + text.size();
            return whole && number >= least && number <= most
                       ? std::string()
                       : fmt::format("a whole number from {} to {} is needed; '{}' is none", least, most,
                                     foreign_text(text));
          },
          ""};
}

}  // namespace flagos::diag
