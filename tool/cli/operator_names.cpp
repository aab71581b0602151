#include "cli/operator_names.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "cli/exit_code.h"
#include "edit_distance.h"
#include "report/foreign_text.h"

namespace flagos::diag {
namespace {

constexpr std::string_view kAten = "aten::";
constexpr size_t kLongestName = 200;  // no operator's is near it, and the distance takes time

bool has_namespace(std::string_view name) { return name.find("::") != std::string_view::npos; }
bool is_glob(std::string_view name) { return name.find_first_of("*?[") != std::string_view::npos; }
bool has_overload(std::string_view name) { return name.find('.') != std::string_view::npos; }

std::string_view bare_name(std::string_view op) { return op.substr(0, op.find('.')); }

// A bare name means all its overloads; a full one only itself.
bool fits(const std::string& pattern, const std::string& op) {
  if (is_glob(pattern)) {
    return fnmatch(pattern.c_str(), op.c_str(), 0) == 0;
  }
  return op == pattern || bare_name(op) == pattern;
}

std::vector<std::string> fitting(const std::string& pattern, const std::vector<std::string>& known) {
  std::vector<std::string> found;
  std::copy_if(known.begin(), known.end(), std::back_inserter(found),
               [&](const std::string& op) { return fits(pattern, op); });
  return found;
}

}  // namespace

std::string_view without_aten(std::string_view op) { return op.starts_with(kAten) ? op.substr(kAten.size()) : op; }

std::vector<std::string> all_operators() {
  std::vector<std::string> names;
  for (const auto& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (c10::Dispatcher::singleton().findSchema(name).has_value()) {
      names.push_back(c10::toString(name));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<std::string> matching_operators(std::string_view pattern, const std::vector<std::string>& known) {
  if (has_namespace(pattern)) {
    return fitting(std::string(pattern), known);
  }
  const auto of_aten = fitting(std::string(kAten) + std::string(pattern), known);
  return of_aten.empty() ? fitting("*::" + std::string(pattern), known) : of_aten;
}

std::vector<std::string> nearest_names(std::string_view name, const std::vector<std::string>& known, size_t count) {
  // Distance first, then the name, so that the order is the same everywhere.
  std::set<std::pair<size_t, std::string>> ranked;
  if (name.size() > kLongestName) {
    return {};
  }
  const std::string_view wanted = without_aten(name);
  for (const auto& op : known) {
    const std::string_view shown = without_aten(op);
    const std::string candidate(has_overload(name) ? shown : bare_name(shown));
    ranked.emplace(edit_distance(wanted, candidate), candidate);
  }
  std::vector<std::string> nearest;
  for (const auto& [distance, candidate] : ranked) {
    if (nearest.size() == count || distance > wanted.size() / 2 + 1) {
      break;
    }
    nearest.push_back(candidate);
  }
  return nearest;
}

std::vector<std::string> select_operators(const std::vector<std::string>& patterns,
                                          const std::vector<std::string>& known) {
  std::set<std::string> selected;
  for (const auto& pattern : patterns) {
    const auto found = matching_operators(pattern, known);
    if (found.empty()) {
      const auto nearest = nearest_names(pattern, known);
      throw UsageError(fmt::format("no operator {}. {}", foreign_text(pattern),
                                   nearest.empty() ? std::string("flagos-diag --list names them all.")
                                                   : fmt::format("Nearest: {}.", fmt::join(nearest, ", "))));
    }
    selected.insert(found.begin(), found.end());
  }
  return {selected.begin(), selected.end()};
}

}  // namespace flagos::diag
