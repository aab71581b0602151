#include <c10/util/Exception.h>
#include <pthread.h>

#include <array>
#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "boxing/thread_state.h"
#include "device/target_constants.h"
#include "flagos/stats.h"
#include "kernel/registration.h"
#include "redispatch/operator_table.h"

namespace flagos::kernel {
namespace {

struct Contexts {
  std::mutex mutex;               // guards what follows, except that by_id is read below `published` without it
  std::deque<OpContext> storage;  // stable addresses
  std::array<OpContext*, kMaxOperators> by_id{};
  std::atomic<size_t> published{0};
  std::unordered_map<std::string, OpContext*> by_name;
  std::unordered_set<OpContext*> retired;  // of operators that are not defined any more

  OpContext& add(const c10::OperatorHandle& handle, KernelKind kind, OpPolicy policy) {
    const size_t id = published.load(std::memory_order_relaxed);
    TORCH_CHECK(id < kMaxOperators, "flagos: more than ", kMaxOperators,
                " operators; raise kMaxOperators in lib/boxing/thread_state.h.");
    OpContext& made = storage.emplace_back(handle, static_cast<uint32_t>(id), kind, policy);
    by_id.at(id) = &made;
    by_name.emplace(c10::toString(handle.operator_name()), &made);
    published.store(id + 1, std::memory_order_release);
    return made;
  }
};

// Never destroyed: kernels may run while the process exits.
Contexts& all_contexts() {
  static auto* instance = [] {
    auto* made = new Contexts();
    // Another thread's lock would stay locked for ever in a forked child.
    pthread_atfork([] { all_contexts().mutex.lock(); }, [] { all_contexts().mutex.unlock(); },
                   [] { all_contexts().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

std::string with_namespace(std::string_view name) {
  return name.find("::") == std::string_view::npos ? "aten::" + std::string(name) : std::string(name);
}

}  // namespace

OpContext::OpContext(c10::OperatorHandle handle_, uint32_t id_, KernelKind kind_, OpPolicy policy_)
    : name(handle_.operator_name()), handle(handle_), target_kernel(nullptr), id(id_), kind(kind_), policy(policy_) {
  renew(handle_);
}

void OpContext::renew(const c10::OperatorHandle& defined) {
  handle = defined;
  target_kernel = defined.hasComputedKernelForDispatchKey(target().dense_key)
                      ? &kernel_slot(defined, {c10::DispatchKeySet::RAW, target().dense_keys})
                      : nullptr;
  mutated_args = policy.mutated_args;
  const auto& arguments = handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = arguments[i].alias_info();
    mutated_args |= static_cast<uint64_t>(alias != nullptr && alias->isWrite()) << i;
  }
}

OpContext& add_context(const c10::OperatorHandle& handle, KernelKind kind, OpPolicy policy) {
  auto& contexts = all_contexts();
  const std::lock_guard lock(contexts.mutex);
  return contexts.add(handle, kind, policy);
}

namespace {

OpContext& context_of(const c10::OperatorHandle& handle, KernelKind kind) {
  auto& contexts = all_contexts();
  const std::lock_guard lock(contexts.mutex);
  const auto found = contexts.by_name.find(c10::toString(handle.operator_name()));
  if (found == contexts.by_name.end()) {
    return contexts.add(handle, kind, {});
  }
  if (contexts.retired.erase(found->second) != 0) {
    found->second->renew(handle);
  }
  return *found->second;
}

// The dispatcher frees an operator with the last library that defined it.
struct Retirement final : c10::OpRegistrationListener {
  void onOperatorRegistered(const c10::OperatorHandle& /*op*/) override {}
  void onOperatorDeregistered(const c10::OperatorHandle& op) override {
    auto& contexts = all_contexts();
    const std::lock_guard lock(contexts.mutex);
    if (const auto found = contexts.by_name.find(c10::toString(op.operator_name())); found != contexts.by_name.end()) {
      contexts.retired.insert(found->second);
    }
  }
};

}  // namespace

void watch_definitions() {
  // Never taken back: operators may end while the process exits. `used` keeps the pointer, which nothing reads but what
  // looks for memory leaks.
  [[gnu::used]] static auto* registration = new c10::RegistrationHandleRAII(
      c10::Dispatcher::singleton().addRegistrationListener(std::make_unique<Retirement>()));
}

OpContext& fallback_context(const c10::OperatorHandle& handle) { return context_of(handle, KernelKind::kFallback); }
OpContext& boxed_context(const c10::OperatorHandle& handle) { return context_of(handle, KernelKind::kBoxed); }

OpContext* find_context(std::string_view full_name) {
  auto& contexts = all_contexts();
  const std::lock_guard lock(contexts.mutex);
  const auto found = contexts.by_name.find(with_namespace(full_name));
  return found != contexts.by_name.end() ? found->second : nullptr;
}

std::span<OpContext* const> contexts() {
  const auto& contexts = all_contexts();
  return std::span(contexts.by_id).first(contexts.published.load(std::memory_order_acquire));
}

}  // namespace flagos::kernel

namespace flagos {
namespace {

std::optional<c10::OperatorHandle> find_operator(std::string_view full_name) {
  const std::string name = kernel::with_namespace(full_name);
  const size_t dot = name.find('.', name.find("::"));
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({name.substr(0, dot), overload});
}

bool returns_view(const c10::FunctionSchema& schema) {
  for (const auto& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) {
      return true;
    }
  }
  return false;
}

}  // namespace

KernelKind kernel_kind(std::string_view op) {
  const auto handle = find_operator(op);
  if (!handle.has_value()) {
    return KernelKind::kNone;
  }
  if (handle->hasKernelForDispatchKey(c10::DispatchKey::PrivateUse1)) {
    if (const kernel::OpContext* context = kernel::find_context(op)) {
      return context->kind;
    }
  }
  if (handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeImplicitAutograd)) {
    return KernelKind::kComposite;
  }
  const bool composite = handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutograd) ||
                         handle->hasKernelForDispatchKey(c10::DispatchKey::CompositeExplicitAutogradNonFunctional);
  if (!composite) {
    return KernelKind::kFallback;
  }
  return handle->hasSchema() && returns_view(handle->schema()) ? KernelKind::kView : KernelKind::kComposite;
}

}  // namespace flagos
