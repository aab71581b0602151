#include "cli/call_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/exit_code.h"
#include "cli/number_checks.h"
#include "cli/operator_names.h"
#include "report/foreign_text.h"

namespace flagos::diag {

std::vector<std::string> without_repeats(const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names) {
    if (std::find(found.begin(), found.end(), name) == found.end()) {
      found.push_back(name);
    }
  }
  return found;
}

CLI::Option* CallChoice::add_operators(CLI::App& command, const std::string& all_help) {
  command.add_option("OP", patterns_, "Full overload (add.Tensor), bare name (all overloads) or glob");
  command.add_flag("--all", all_, all_help);
  return command.add_option("--trace", trace_, "Take operators and arguments from this PyTorch execution trace");
}

CLI::Option* CallChoice::add_call(CLI::App& command) {
  return command.add_option("--call", call_, "Only the recorded call of this number, from 0")->check(whole_number(0));
}

std::vector<std::string> CallChoice::operators(const std::function<std::vector<std::string>()>& recorded,
                                               const char* ways, bool has_source) const {
  if (named() && all_) {
    throw UsageError(fmt::format("operators are named ({}), and --all means every one; leave out either.",
                                 foreign_text(patterns_.front())));
  }
  if (named()) {
    return select_operators(patterns_, all_operators());
  }
  if (all_ || !trace_.empty() || has_source) {
    return recorded();
  }
  throw UsageError(ways);
}

CallRange CallChoice::calls(size_t recorded, size_t most) const {
  if (recorded == 0) {
    return {};
  }
  const auto chosen = static_cast<size_t>(std::max<int64_t>(call_, 0));
  return call_ >= 0 ? CallRange{chosen, chosen + 1} : CallRange{0, std::min(recorded, most)};
}

}  // namespace flagos::diag
