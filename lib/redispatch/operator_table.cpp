#include "redispatch/operator_table.h"

namespace flagos {
namespace {

// Note [Reading the dispatch table]
// OperatorHandle tells whether an op's *own* kernel at a key is a fallthrough, not whether a backend-wide fallback is
// one; the dispatch table knows both. OperatorEntry::lookup() is public, the handle's pointer to the entry is not. An
// explicit instantiation may name a private member ([temp.spec]), which makes the access legal and keeps it in here.
template <auto Member>
struct Reveal {
  friend auto operator_definition() { return Member; }
};
auto operator_definition();
template struct Reveal<&c10::OperatorHandle::operatorDef_>;

}  // namespace

const c10::KernelFunction& kernel_slot(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  auto* definition = op.*operator_definition();
  return definition->op.lookup(keys);
}

bool falls_through(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  const int index = keys.getDispatchTableIndexForDispatchKeySet();
  if (index < 0 || !op.hasComputedKernelForDispatchKey(keys.highestPriorityTypeId())) {
    return false;
  }
  return kernel_slot(op, keys).isFallthrough();
}

}  // namespace flagos
