// DispatchTable: an operator's computed dispatch table, read from the text that the dispatcher prints of it.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/DispatchKey.h>

#include <map>
#include <string>
#include <string_view>

namespace flagos::diag {

// Note [Why from text]
// The prediction must not share code with what it checks. The library's gate looks into the table's slots; this reads
// OperatorHandle::dumpComputedTable(), the dispatcher's own account of the same table.

struct TableEntry {
  bool fallthrough = false;
  std::string source;  // "registered at /pytorch/.../RegisterCPU_0.cpp:1310"
  std::string kind;    // "kernel", "backend fallback", "math kernel", "default backend kernel", "autograd kernel"
};

class DispatchTable {
 public:
  explicit DispatchTable(const c10::OperatorHandle& op);
  // From text; for tests.
  explicit DispatchTable(std::string_view dump);

  // The entry at a runtime key ("AutogradPrivateUse1"), or null when the operator has nothing there.
  const TableEntry* at(c10::DispatchKey key) const;

 private:
  void parse(std::string_view dump);

  std::map<std::string, TableEntry, std::less<>> entries_;
};

}  // namespace flagos::diag
