// What is known of each registered operator, and how the generated shards hand operators over.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <atomic>
#include <cstdint>
#include <span>
#include <string>

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
  OpContext(c10::OperatorHandle handle_, uint32_t id_, KernelKind kind_) : handle(handle_), id(id_), kind(kind_) {}

  c10::OperatorHandle handle;
  uint32_t id;  // index of its counters
  KernelKind kind;
  std::atomic<RouteKind> route{RouteKind::kNative};
};

// One operator of a shard.
struct RegisteredOp {
  const char* name;      // "aten::add"
  const char* overload;  // "Tensor"
  torch::CppFunction (*make_function)();
  void (*set_context)(OpContext&);
};

// The generated list, one span a shard.
std::span<const std::span<const RegisteredOp>> all_shards();

// Gives an operator its id and context. Called while the library is loaded, or by tests; not thread-safe.
OpContext& add_context(const c10::OperatorHandle& handle, KernelKind kind);
// The context of "aten::add.Tensor", or null. Any thread, after loading.
OpContext* find_context(std::string_view full_name);
// All contexts, by id. Any thread, after loading.
std::span<OpContext* const> contexts();

}  // namespace flagos::kernel
