#include "verify/shrinker.h"

#include <algorithm>
#include <regex>
#include <set>
#include <utility>

#include "traces/call_text.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

std::string identity(const CaseInput& input) {
  return std::string(variant_name(input.variant)) + ' ' + data_name(input.data) + ' ' + call_text(input.call);
}

std::string without_figures(std::string reason) {
  static const std::regex list("\\[[^\\]]*\\]");
  static const std::regex number("[0-9]+");
  reason.resize(std::min(reason.size(), reason.find(kFactsBegin)));
  return std::regex_replace(std::regex_replace(reason, list, "[]"), number, "#");
}

}  // namespace

std::string failure_kind(const Row& found) {
  std::string kind;
  for (const Row& row : found.at("rows")) {
    if (row.at("equal") == Row(false)) {
      kind += row.at("arm_a").get<std::string>() + '/' + row.at("arm_b").get<std::string>() + ": " +
              without_figures(row.at("reason").get<std::string>()) + '\n';
    }
  }
  return kind;
}

Shrunk shrink(CaseInput input, const c10::FunctionSchema& schema, bool fixed_layout,
              const std::function<bool(const CaseInput&)>& fails, const ShrinkBounds& bounds) {
  Shrunk shrunk{std::move(input)};
  std::set<std::string> tried = {identity(shrunk.input)};
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (CaseInput& candidate : shrink_candidates(shrunk.input, schema, fixed_layout)) {
      if (!tried.insert(identity(candidate)).second) {
        continue;
      }
      if (shrunk.tries == bounds.tries || std::chrono::steady_clock::now() > bounds.deadline) {
        return shrunk;
      }
      ++shrunk.tries;
      if (fails(candidate)) {
        shrunk.input = std::move(candidate);
        ++shrunk.steps;
        smaller = true;
        break;
      }
    }
  }
  return shrunk;
}

}  // namespace flagos::diag
