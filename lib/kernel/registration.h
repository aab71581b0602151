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
  uint64_t contiguous_args = 0;  // bit i: argument i is made contiguous before it is boxed
  uint64_t mutated_args = 0;     // bit i: argument i is changed though the schema does not mark it
  uint64_t host_args = 0;  // bit i: argument i may be on the CPU, with one or more dimensions, among flagos tensors
  bool reads_metadata = false;  // that of its tensors is all it reads: they need no memory on the target
};

// A route other than "native"; the hot path only asks whether there is one.
enum class RouteKind : uint8_t { kNative, kDispatch, kCpu, kNamed };

// Per-operator state, made at registration and kept until the process ends. Addresses are stable. An operator that ends
// with the library that defined it (torch::Library) leaves its context, which its next definition takes over.
struct OpContext {
  OpContext(c10::OperatorHandle handle_, uint32_t id_, KernelKind kind_, OpPolicy policy_);

  // Takes the operator's new definition after its library was destroyed and another defined it again.
  void renew(const c10::OperatorHandle& defined);

  const c10::OperatorName name;  // outlives the operator
  c10::OperatorHandle handle;    // dangles while the operator is not defined
  // The dispatch table's slot for the target's Dense key, null when there was no kernel. The slot's address is the
  // entry's own; what it holds follows later registrations.
  const c10::KernelFunction* target_kernel;
  uint64_t mutated_args = 0;  // bit i: argument i may get other metadata: the schema marks it (x!), or the policy
  uint32_t id;                // index of its counters
  KernelKind kind;
  OpPolicy policy;
  std::atomic<RouteKind> route{RouteKind::kNative};
};

// One operator of a shard.
struct RegisteredOp {
  const char* name;       // "aten::add"
  const char* overload;   // "Tensor"
  uint64_t mutated_args;  // bit i: the kernel writes argument i back
  OpPolicy policy;
  void (*full_dispatch)();  // at::_ops::X::call, its type taken off; only make_kernel knows it
  c10::KernelFunction (*make_kernel)(const OpContext& context, void (*full_dispatch)());
};

// The generated list, one span a shard.
std::span<const std::span<const RegisteredOp>> all_shards();

// Gives an operator its id and context. Throws c10::Error when there are kMaxOperators already. Any thread.
OpContext& add_context(const c10::OperatorHandle& handle, KernelKind kind, OpPolicy policy = {});
// The operator's context, made as one of the fallback's, or of a boxed operator's, when there is none. Any thread.
OpContext& fallback_context(const c10::OperatorHandle& handle);
OpContext& boxed_context(const c10::OperatorHandle& handle);
// The context of "aten::add.Tensor", or null, also when the operator is not defined any more. Any thread.
OpContext* find_context(std::string_view full_name);
// All contexts there are now, by id. Any thread.
std::span<OpContext* const> contexts();

// From now on contexts take part in operators' ends and new definitions. Called while the library is loaded.
void watch_definitions();

// Registers `kernel` for the operator at `key`, until the process ends. Called while the library is loaded, or by
// tests; not thread-safe.
void register_kernel(const OpContext& context, c10::KernelFunction kernel,
                     c10::DispatchKey key = c10::DispatchKey::PrivateUse1);

}  // namespace flagos::kernel
