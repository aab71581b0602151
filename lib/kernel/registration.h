// What is known of each registered operator, and how the generated shards hand operators over.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "flagos/stats.h"

namespace flagos::kernel {

// Special cases of one operator; data from gen/policy.yaml.
struct OpPolicy {
  uint64_t contiguous_args = 0;       // bit i: argument i is made contiguous before it is boxed
  bool accepts_host_tensors = false;  // CPU tensors of one or more dimensions may be mixed with flagos tensors
};

// A route other than "native"; the hot path only asks whether there is one.
enum class RouteKind : uint8_t { kNative, kDispatch, kCpu, kNamed };

// Per-operator state, made at registration and kept until the process ends. Addresses are stable.
struct OpContext {
  OpContext(c10::OperatorHandle handle_, uint32_t id_, KernelKind kind_, OpPolicy policy_);

  c10::OperatorHandle handle;
  // The dispatch table's slot for the target's Dense key. The slot's address is the entry's own; what it holds follows
  // later registrations.
  const c10::KernelFunction* target_kernel;
  uint64_t mutated_args = 0;  // bit i: the schema marks argument i (x!)
  uint32_t id;                // index of its counters
  KernelKind kind;
  OpPolicy policy;
  std::atomic<RouteKind> route{RouteKind::kNative};
};

// One operator of a shard.
struct RegisteredOp {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
  OpPolicy policy;
  c10::KernelFunction (*make_kernel)(const OpContext& context);
};

// The generated list, one span a shard.
std::span<const std::span<const RegisteredOp>> all_shards();

// Gives an operator its id and context. Called while the library is loaded, or by tests; not thread-safe.
OpContext& add_context(const c10::OperatorHandle& handle, KernelKind kind, OpPolicy policy = {});
// The context of "aten::add.Tensor", or null. Any thread, after loading.
OpContext* find_context(std::string_view full_name);
// All contexts, by id. Any thread, after loading.
std::span<OpContext* const> contexts();

// Registers `kernel` for the operator at the PrivateUse1 key, until the process ends. Called while the library is
// loaded, or by tests; not thread-safe.
void register_kernel(const OpContext& context, c10::KernelFunction kernel);

}  // namespace flagos::kernel
