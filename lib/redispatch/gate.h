// The gate: may this call jump to the target's kernel?
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>

#include "device/target_constants.h"
#include "flagos/redispatch.h"

namespace flagos {

// Note [The gate's rule]
//   keys     = union of the boxed tensor arguments' key sets, and of the target's key for a call that came by a key of
//              another layout (a sparse or quantized factory); {target Dense} for an op without tensor arguments
//   eff      = (keys | tls.included) - tls.excluded
//   eligible = the highest key of eff that the op does not fall through is the target's Dense key
// This is the dispatcher's own rule, so the fast path is taken iff the full dispatch would run the same kernel next.
// Two points need saying:
//  - BackendSelect is left out. Its kernels only choose a backend from the device argument, which has happened above
//    (that is how the flagos kernel was reached) and would choose the target for the target's device.
//  - The common case is one comparison. DispatchKeySet keeps the backends in the low bits and the functionalities
//    above them, Dense lowest. So `eff ^ Dense` is below `fast_limit`, the bit above the target's backend, iff Dense is
//    there, no functionality above it is, and no backend outranks the target.
inline uint64_t effective_keys(
    uint64_t keys, const c10::impl::LocalDispatchKeySet& local = c10::impl::tls_local_dispatch_key_set()) noexcept {
  constexpr uint64_t ignored = keys::bits(c10::DispatchKey::BackendSelect);
  // A backend bit is never excluded: DispatchKeySet::operator- keeps them too.
  const uint64_t kept = (keys | local.included_.raw_repr()) & (c10::full_backend_mask | ~local.excluded_.raw_repr());
  return kept & ~ignored;
}

inline bool is_fast(uint64_t effective) noexcept { return (effective ^ kDenseBit) < target().fast_limit; }

// Decides a call that is_fast() did not let through: steps over the keys the op falls through, asking the dispatcher's
// live table, until a key decides. Never inlined: this is not the common case.
GateDecision gate_slow(const c10::OperatorHandle& op, uint64_t effective);

}  // namespace flagos
