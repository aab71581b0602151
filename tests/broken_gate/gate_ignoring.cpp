// The gate broken on purpose: it does not see the dispatch key FLAGOS_IGNORED_KEY among the arguments'. Takes the place
// of lib/redispatch/gate.cpp in a library that the tool must find at fault.
#define gate_slow exact_gate_slow
#include "redispatch/gate.cpp"
#undef gate_slow

namespace flagos {

GateDecision gate_slow(const c10::OperatorHandle& op, uint64_t effective) {
  return exact_gate_slow(op, without(effective, c10::DispatchKey::FLAGOS_IGNORED_KEY));
}

}  // namespace flagos
