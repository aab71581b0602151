#include "prediction/prediction.h"

namespace flagos::diag {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr DispatchKeySet kAutocast = c10::autocast_dispatch_keyset | DispatchKeySet(DispatchKey::AutocastPrivateUse1);

// A key set without the functionality of `key`. Backends stay, as they do in the dispatcher.
DispatchKeySet below(DispatchKeySet keys, DispatchKey key) {
  return keys - DispatchKeySet(c10::toFunctionalityKey(key));
}

bool is_autograd(DispatchKey key) {
  return c10::toFunctionalityKey(key) == DispatchKey::AutogradFunctionality || key == DispatchKey::AutogradOther ||
         key == DispatchKey::AutogradNestedTensor;
}

// What the kernels above the device's exclude on their way down: an autograd kernel excludes autograd, a view's or
// in-place operator's ADInplaceOrView kernel its own key; the generated kernels of the other operators both at once.
// Autograd's backend fallback, for operators without a derivative, only masks the keys of its own redispatch.
DispatchKeySet excluded_on_the_way(const DispatchTable& table, const CallState& state) {
  DispatchKeySet excluded = state.excluded;
  DispatchKeySet keys = (state.keys | state.included) - excluded;
  while (!keys.empty()) {
    const DispatchKey key = keys.highestPriorityTypeId();
    if (c10::toFunctionalityKey(key) == DispatchKey::Dense || key == DispatchKey::Undefined) {
      break;
    }
    const TableEntry* entry = table.at(key);
    if (entry != nullptr && !entry->fallthrough) {
      if (is_autograd(key) && entry->kind != "backend fallback") {
        excluded = excluded | c10::autograd_dispatch_keyset_with_ADInplaceOrView;
      } else if (key == DispatchKey::ADInplaceOrView || kAutocast.has(key)) {
        excluded = excluded | DispatchKeySet(key);
      }
    }
    keys = below(keys, key);
  }
  return excluded;
}

DispatchKeySet as_boxed(DispatchKeySet keys, DispatchKey target) {
  keys = keys - kAutocast;
  if (keys.empty()) {
    return DispatchKeySet(target);
  }
  return keys.has_backend(c10::BackendComponent::PrivateUse1Bit)
             ? keys.remove_backend(c10::BackendComponent::PrivateUse1Bit) |
                   DispatchKeySet(c10::toBackendComponent(target))
             : keys;
}

}  // namespace

Reason predicted_reason(DispatchKey key) {
  const std::string_view name = c10::toString(key);
  if (key == DispatchKey::Conjugate) {
    return Reason::kConj;
  }
  if (key == DispatchKey::Negative) {
    return Reason::kNeg;
  }
  if (key == DispatchKey::ZeroTensor) {
    return Reason::kZero;
  }
  if (key == DispatchKey::Functionalize) {
    return Reason::kFunctionalize;
  }
  if (name.starts_with("FuncTorch") || name.find("Batched") != std::string_view::npos || name == "VmapMode") {
    return Reason::kVmap;
  }
  if (name.starts_with("Python") || name == "Fake") {
    return Reason::kPython;
  }
  if (is_autograd(key) || key == DispatchKey::ADInplaceOrView) {
    return Reason::kAutograd;
  }
  if (name.starts_with("Autocast")) {
    return Reason::kAutocast;
  }
  return c10::toFunctionalityKey(key) == DispatchKey::Dense ? Reason::kDevice : Reason::kOther;
}

KernelKind predict_kind(const DispatchTable& table, const c10::FunctionSchema& schema) {
  const TableEntry* entry = table.at(DispatchKey::PrivateUse1);
  if (entry == nullptr || entry->fallthrough || entry->kind == "backend fallback") {
    return KernelKind::kFallback;
  }
  // The library names the nature of each kernel of its own where it registers it.
  if (entry->kind == "math kernel" || entry->source.find("libflagos, composite") != std::string::npos) {
    return KernelKind::kComposite;
  }
  if (entry->source.find("libflagos, never boxed") != std::string::npos) {
    return KernelKind::kView;
  }
  bool view = false;
  for (const auto& result : schema.returns()) {
    view |= result.alias_info() != nullptr && !result.alias_info()->isWrite();
  }
  if (view) {
    return KernelKind::kView;
  }
  return entry->kind == "kernel" ? KernelKind::kBoxed : KernelKind::kComposite;
}

Decision predict(const DispatchTable& table, const CallState& state) {
  if (state.switched_off) {
    return {Verdict::kFull, Reason::kOff, DispatchKey::Undefined};
  }
  if (state.routed) {
    return {Verdict::kFull, Reason::kRoute, DispatchKey::Undefined};
  }
  const DispatchKeySet excluded = state.entry == Entry::kTop ? excluded_on_the_way(table, state) : state.excluded;
  DispatchKeySet keys = (as_boxed(state.keys, state.target) | state.included) - excluded;
  while (!keys.empty()) {
    const DispatchKey key = keys.highestPriorityTypeId();
    if (key == DispatchKey::Undefined) {
      break;  // only backend bits are left
    }
    if (key == state.target) {
      return {Verdict::kFast, Reason::kNone, DispatchKey::Undefined};
    }
    const TableEntry* entry = table.at(key);
    // BackendSelect only picks a backend from the device argument, which has happened by then.
    const bool passed = (entry != nullptr && entry->fallthrough) || key == DispatchKey::BackendSelect;
    if (!passed || c10::toFunctionalityKey(key) == DispatchKey::Dense) {
      return {Verdict::kFull, predicted_reason(key), key};
    }
    keys = below(keys, key);
  }
  return {Verdict::kFull, Reason::kNoKernel, DispatchKey::Undefined};
}

}  // namespace flagos::diag
