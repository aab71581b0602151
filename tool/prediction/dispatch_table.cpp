#include "prediction/dispatch_table.h"

namespace flagos::diag {
namespace {

constexpr std::string_view kFallthrough = "fallthrough ";

// "fallthrough registered at FILE:LINE [backend fallback]"
TableEntry parse_entry(std::string_view text) {
  TableEntry entry;
  if (text.starts_with(kFallthrough)) {
    entry.fallthrough = true;
    text.remove_prefix(kFallthrough.size());
  }
  const size_t bracket = text.rfind('[');
  if (bracket == std::string_view::npos) {
    entry.source = text;
    return entry;
  }
  entry.source = text.substr(0, bracket > 0 ? bracket - 1 : 0);
  entry.kind = text.substr(bracket + 1, text.rfind(']') - bracket - 1);
  return entry;
}

}  // namespace

DispatchTable::DispatchTable(const c10::OperatorHandle& op) { parse(op.dumpComputedTable()); }
DispatchTable::DispatchTable(std::string_view dump) { parse(dump); }

void DispatchTable::parse(std::string_view dump) {
  while (!dump.empty()) {
    const std::string_view line = dump.substr(0, dump.find('\n'));
    dump.remove_prefix(std::min(dump.size(), line.size() + 1));
    const size_t colon = line.find(": ");
    if (colon != std::string_view::npos) {
      entries_.emplace(line.substr(0, colon), parse_entry(line.substr(colon + 2)));
    }
  }
}

const TableEntry* DispatchTable::at(c10::DispatchKey key) const {
  const auto found = entries_.find(std::string_view(c10::toString(key)));
  return found != entries_.end() ? &found->second : nullptr;
}

}  // namespace flagos::diag
