#include "redispatch/gate.h"

#include "redispatch/operator_table.h"

namespace flagos {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

Reason reason_for(DispatchKey key) {
  switch (c10::toFunctionalityKey(key)) {
    case DispatchKey::Conjugate:
      return Reason::kConj;
    case DispatchKey::Negative:
      return Reason::kNeg;
    case DispatchKey::ZeroTensor:
      return Reason::kZero;
    case DispatchKey::Functionalize:
      return Reason::kFunctionalize;
    case DispatchKey::FuncTorchBatched:
    case DispatchKey::FuncTorchVmapMode:
    case DispatchKey::Batched:
    case DispatchKey::BatchedNestedTensor:
    case DispatchKey::VmapMode:
    case DispatchKey::FuncTorchGradWrapper:
    case DispatchKey::FuncTorchDynamicLayerBackMode:
    case DispatchKey::FuncTorchDynamicLayerFrontMode:
      return Reason::kVmap;
    case DispatchKey::Python:
    case DispatchKey::PythonTLSSnapshot:
    case DispatchKey::PythonDispatcher:
    case DispatchKey::Fake:
      return Reason::kPython;
    case DispatchKey::AutogradFunctionality:
    case DispatchKey::AutogradOther:
    case DispatchKey::AutogradNestedTensor:
    case DispatchKey::ADInplaceOrView:
      return Reason::kAutograd;
    case DispatchKey::Dense:
      return Reason::kDevice;
    default:
      return (kAutocastBits & keys::functionality(key)) != 0 ? Reason::kAutocast : Reason::kOther;
  }
}

// Removes from `effective` the functionality of `key`; the backends stay.
uint64_t without(uint64_t effective, DispatchKey key) { return effective & ~keys::functionality(key); }

}  // namespace

C10_NOINLINE GateDecision gate_slow(const c10::OperatorHandle& op, uint64_t effective) {
  while (!is_fast(effective)) {
    const DispatchKeySet rest(DispatchKeySet::RAW, effective);
    const DispatchKey key = rest.highestPriorityTypeId();
    const bool above_dense = (effective & ~uint64_t{c10::full_backend_mask} & ~kDenseBit) != 0;
    if (!above_dense || !falls_through(op, rest)) {
      return {reason_for(key), key};
    }
    effective = without(effective, key);
  }
  return {};
}

GateDecision gate(const c10::OperatorHandle& op, c10::DispatchKeySet keys) {
  const uint64_t raw = keys.empty() ? target().dense_keys : keys.raw_repr();
  return gate_slow(op, effective_keys(raw));
}

c10::DispatchKeySet boxed_key_set(c10::DispatchKeySet keys) noexcept {
  const uint64_t raw = keys.raw_repr();
  const bool flagos = (raw & kPrivateUse1Bit) != 0;
  return {c10::DispatchKeySet::RAW, (raw & ~kAutocastBits) ^ (flagos ? target().swap_bits : 0)};
}

}  // namespace flagos
