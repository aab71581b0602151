// Per-operator counters of the fast path, and what is registered for each operator.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flagos/export.h"
#include "flagos/redispatch.h"

namespace flagos {

// How a flagos tensor's call of an operator is carried out.
enum class KernelKind : uint8_t {
  kBoxed,      // generated kernel: box, gate, redispatch or full dispatch, unbox
  kView,       // hand-written or composite on metadata alone: never boxed
  kComposite,  // PyTorch decomposes it above the device (CompositeImplicitAutograd, or left to its composite)
  kFallback,   // the boxed stack fallback, which ends at the target's kernel or at the CPU's
  kNone,       // no such operator
};

// "boxed", "view", "composite", "fallback", "none". The string is static; any thread.
FLAGOS_API const char* kernel_kind_name(KernelKind kind) noexcept;

// What is registered for `op`, "name.overload" with or without the "aten::" namespace. Any thread.
FLAGOS_API KernelKind kernel_kind(std::string_view op);

// Counters of one operator since the library was loaded or reset_stats() was called, summed over all threads,
// including threads that have ended. refused[0] (Reason::kNone) is always 0.
struct OpStats {
  std::string op;      // "aten::add.Tensor"
  uint64_t calls = 0;  // times a flagos kernel of the op ran: hits + refused + calls of hand-written kernels
  uint64_t hits = 0;   // times the fast path was taken
  std::array<uint64_t, static_cast<size_t>(Reason::kCount)> refused{};
};

// Counters of every operator called so far, sorted by name. Safe while other threads call operators: each counter is
// read atomically, the set of them is not a snapshot of one instant. Any thread.
FLAGOS_API std::vector<OpStats> stats();

// Counters of one operator ("aten::add.Tensor" or "add.Tensor"); all zero when it was never called. Any thread.
FLAGOS_API OpStats op_stats(std::string_view op);

// Sets every counter to zero. Calls that run meanwhile may or may not be counted. Any thread.
FLAGOS_API void reset_stats();

}  // namespace flagos
