#include <map>
#include <string>

#include "boxing/thread_state.h"
#include "flagos/stats.h"
#include "kernel/registration.h"

namespace flagos {
namespace {

std::string full_name(const kernel::OpContext& context) { return c10::toString(context.name); }

// Adds one thread's counters of operator `id` to `to`.
void add_thread(OpStats& to, const ThreadState& state, uint32_t id) {
  const uint64_t hits = state.hits[id].load(std::memory_order_relaxed);
  to.hits += hits;
  to.calls += hits + state.direct[id].load(std::memory_order_relaxed);
  for (size_t reason = 0; reason < ThreadState::kReasons; ++reason) {
    const uint64_t refused = state.refused[id * ThreadState::kReasons + reason].load(std::memory_order_relaxed);
    to.refused.at(reason) += refused;
    to.calls += refused;
  }
}

struct Sum {
  OpStats* to;
  uint32_t id;
};

OpStats sum_threads(const kernel::OpContext& context) {
  OpStats total;
  total.op = full_name(context);
  Sum sum{&total, context.id};
  for_each_thread(
      [](ThreadState& state, void* into) {
        const auto* each = static_cast<Sum*>(into);
        add_thread(*each->to, state, each->id);
      },
      &sum);
  return total;
}

void zero(std::atomic<uint64_t>* counters, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (counters[i].load(std::memory_order_relaxed) != 0) {  // untouched pages stay unallocated
      counters[i].store(0, std::memory_order_relaxed);
    }
  }
}

}  // namespace

std::vector<OpStats> stats() {
  std::map<std::string, OpStats> sorted;
  for (const kernel::OpContext* context : kernel::contexts()) {
    OpStats total = sum_threads(*context);
    if (total.calls != 0) {
      sorted.emplace(total.op, std::move(total));
    }
  }
  std::vector<OpStats> all;
  all.reserve(sorted.size());
  for (auto& [name, total] : sorted) {
    all.push_back(std::move(total));
  }
  return all;
}

OpStats op_stats(std::string_view op) {
  if (const kernel::OpContext* context = kernel::find_context(op)) {
    return sum_threads(*context);
  }
  OpStats none;
  none.op = op;
  return none;
}

void reset_stats() {
  for_each_thread(
      [](ThreadState& state, void* /*context*/) {
        zero(state.hits, kMaxOperators);
        zero(state.direct, kMaxOperators);
        zero(state.refused, kMaxOperators * ThreadState::kReasons);
      },
      nullptr);
}

const char* kernel_kind_name(KernelKind kind) noexcept {
  switch (kind) {
    case KernelKind::kBoxed:
      return "boxed";
    case KernelKind::kView:
      return "view";
    case KernelKind::kComposite:
      return "composite";
    case KernelKind::kFallback:
      return "fallback";
    case KernelKind::kNone:
      break;
  }
  return "none";
}

}  // namespace flagos
