#include <c10/util/Exception.h>

#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "boxing/thread_state.h"
#include "device/target_constants.h"
#include "flagos/stats.h"
#include "kernel/registration.h"
#include "redispatch/operator_table.h"

namespace flagos::kernel {
namespace {

struct Contexts {
  std::deque<OpContext> storage;  // stable addresses
  std::vector<OpContext*> by_id;
  std::unordered_map<std::string, OpContext*> by_name;
};

// Never destroyed: kernels may run while the process exits.
Contexts& all() {
  static auto* instance = new Contexts();
  return *instance;
}

std::string with_namespace(std::string_view name) {
  return name.find("::") == std::string_view::npos ? "aten::" + std::string(name) : std::string(name);
}

}  // namespace

OpContext::OpContext(c10::OperatorHandle handle_, uint32_t id_, KernelKind kind_, OpPolicy policy_)
    : handle(handle_),
      target_kernel(&kernel_slot(handle_, {c10::DispatchKeySet::RAW, target().dense_keys})),
      id(id_),
      kind(kind_),
      policy(policy_) {
  const auto& arguments = handle.schema().arguments();
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = arguments[i].alias_info();
    mutated_args |= static_cast<uint64_t>(alias != nullptr && alias->isWrite()) << i;
  }
}

void register_kernel(const OpContext& context, c10::KernelFunction kernel) {
  // Never destroyed: the dispatcher may be gone by the time static destructors run.
  static auto* registrations = new std::deque<c10::RegistrationHandleRAII>();
  registrations->push_back(c10::Dispatcher::singleton().registerImpl(context.handle.operator_name(),
                                                                     c10::DispatchKey::PrivateUse1, std::move(kernel),
                                                                     std::nullopt, nullptr, "libflagos"));
}

OpContext& add_context(const c10::OperatorHandle& handle, KernelKind kind, OpPolicy policy) {
  auto& contexts = all();
  const auto id = static_cast<uint32_t>(contexts.by_id.size());
  TORCH_CHECK(id < kMaxOperators, "flagos: more than ", kMaxOperators,
              " operators; raise kMaxOperators in lib/boxing/thread_state.h.");
  OpContext& made = contexts.storage.emplace_back(handle, id, kind, policy);
  contexts.by_id.push_back(&made);
  contexts.by_name.emplace(c10::toString(handle.operator_name()), &made);
  return made;
}

OpContext* find_context(std::string_view full_name) {
  const auto& by_name = all().by_name;
  const auto found = by_name.find(with_namespace(full_name));
  return found != by_name.end() ? found->second : nullptr;
}

std::span<OpContext* const> contexts() { return all().by_id; }

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
  if (const kernel::OpContext* context = kernel::find_context(op)) {
    return context->kind;
  }
  const auto handle = find_operator(op);
  if (!handle.has_value()) {
    return KernelKind::kNone;
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
