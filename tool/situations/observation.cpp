#include "situations/observation.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <dlfcn.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "flagos/flagos.h"
#include "report/error_text.h"

namespace flagos::diag {
namespace {

CallCounts difference(const OpStats& before, const OpStats& after) {
  CallCounts counts;
  counts.calls = after.calls - before.calls;
  counts.hits = after.hits - before.hits;
  uint64_t most = 0;
  for (size_t reason = 0; reason < after.refused.size(); ++reason) {
    const uint64_t refused = after.refused.at(reason) - before.refused.at(reason);
    if (refused > most) {
      most = refused;
      counts.refused = static_cast<Reason>(reason);
    }
  }
  return counts;
}

CallState current_state(const c10::OperatorHandle& op, const Stack& arguments, Entry entry) {
  CallState state;
  visit_tensors(arguments, [&](const at::Tensor& tensor) { state.keys = state.keys | tensor.key_set(); });
  const c10::impl::LocalDispatchKeySet local = c10::impl::tls_local_dispatch_key_set();
  state.included = local.included_;
  state.excluded = local.excluded_;
  state.target = target_dispatch_key();
  const std::string backend = route(c10::toString(op.operator_name()));
  state.routed = backend != "native";
  // Another backend's kernel stands in the place of the one that asks the switch.
  state.switched_off = !redispatch_enabled() && (!state.routed || backend == "dispatch");
  state.entry = entry;
  return state;
}

template <class Call>
void observe(const c10::OperatorHandle& op, Observation& observation, Call call) {
  const std::string name = c10::toString(op.operator_name());
  const OpStats before = op_stats(name);
  try {
    call();
  } catch (const std::exception& error) {
    observation.error = call_error_text(error);
    std::cerr << name << ": " << error.what() << '\n';  // -v shows what workers say
  }
  observation.counts = difference(before, op_stats(name));
}

// The union of what the boxed arguments have, as the gate wants it.
c10::DispatchKeySet boxed_keys(const Stack& arguments) {
  c10::DispatchKeySet keys;
  visit_tensors(arguments, [&](const at::Tensor& tensor) { keys = keys | boxed_key_set(tensor.key_set()); });
  return keys;
}

}  // namespace

std::string call_error_text(const std::exception& error) {
  static const auto clear = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "PyErr_Clear"));
  if (clear != nullptr) {
    clear();
  }
  const std::string text = error_text(error);
  return text.empty() ? "an exception raised in Python" : text;
}

Observation observe_normal_call(const c10::OperatorHandle& op, Scene& scene) {
  Observation observation;
  observation.state = current_state(op, scene.arguments(), Entry::kTop);
  observe(op, observation, [&] { op.callBoxed(scene.arguments()); });
  return observation;
}

Observation observe_arrival(const c10::OperatorHandle& op, Scene& scene) {
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  Observation observation;
  observation.state = current_state(op, scene.arguments(), Entry::kKernel);
  observation.gate = gate(op, boxed_keys(scene.arguments()));
  observe(op, observation,
          [&] { op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &scene.arguments()); });
  return observation;
}

Decision decision_of(const Observation& observation) {
  const CallCounts& counts = observation.counts;
  if (counts.calls == 0) {
    return {};
  }
  if (counts.refused == Reason::kNone) {
    return {Verdict::kFast, Reason::kNone, c10::DispatchKey::Undefined};
  }
  const bool gate_agrees = observation.gate.has_value() && observation.gate->reason == counts.refused;
  return {Verdict::kFull, counts.refused, gate_agrees ? observation.gate->key : c10::DispatchKey::Undefined};
}

}  // namespace flagos::diag
