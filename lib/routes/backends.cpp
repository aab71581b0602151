#include "routes/backends.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/jit_type.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <array>
#include <memory>

#include "boxing/thread_state.h"
#include "device/environment.h"
#include "flagos/stats.h"
#include "kernel/cpu_call.h"
#include "kernel/registration.h"
#include "kernel/replacement.h"
#include "kernel/stack_call.h"

namespace flagos::routing {
namespace {

using c10::DispatchKey;

// What call_on_cpu() itself is made of: on the CPU they would call themselves for ever. set_ is about storages.
constexpr std::array<std::string_view, 6> kCopies{
    "aten::_copy_from", "aten::_copy_from_and_resize", "aten::_to_copy", "aten::copy_", "aten::resize_", "aten::set_"};

constexpr const char* kMadeOfOthers =
    "it is made of other operators, above the device; route those (flagos-diag explain shows what is registered)";

struct CpuKernel final : kernel::BoxingKernel {
  using BoxingKernel::BoxingKernel;
  void operator()(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) const {
    count(thread_state().refused[context_.id * ThreadState::kReasons + static_cast<size_t>(Reason::kRoute)]);
    kernel::call_on_cpu(op, context_.mutated_args, *stack);
  }
};

// A kernel of the device would hide what autograd knows of the parts. The library's own composites are at
// AutogradPrivateUse1 as well, and have no context.
bool made_of_others(const c10::OperatorHandle& op) {
  const bool implicit = op.hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd);
  if (!op.hasKernelForDispatchKey(DispatchKey::PrivateUse1)) {
    return implicit;
  }
  return op.hasKernelForDispatchKey(DispatchKey::AutogradPrivateUse1) &&
         (implicit || kernel::find_context(c10::toString(op.operator_name())) == nullptr);
}

c10::TypePtr without_optional(c10::TypePtr type) {
  const auto optional = type->cast<c10::OptionalType>();
  return optional != nullptr ? optional->getElementType() : type;
}

bool may_have_tensor(const c10::Argument& argument) {
  const c10::TypePtr type = without_optional(argument.type());
  const auto list = type->cast<c10::ListType>();
  return (list != nullptr ? without_optional(list->getElementType()) : type)->isSubtypeOf(*c10::TensorType::get());
}

// A call as far as cpu_call_refusal() looks at it: some tensor wherever there may be one.
torch::jit::Stack some_call(const c10::FunctionSchema& schema) {
  const at::Tensor tensor = at::detail::empty_cpu({0}, at::kFloat);
  torch::jit::Stack stack;
  for (const auto& argument : schema.arguments()) {
    stack.push_back(may_have_tensor(argument) ? c10::IValue(tensor) : c10::IValue());
  }
  return stack;
}

bool takes_storage(const c10::FunctionSchema& schema) {
  return std::any_of(schema.arguments().begin(), schema.arguments().end(), [](const c10::Argument& argument) {
    return argument.type()->kind() == c10::TypeKind::StorageType ||
           argument.type()->kind() == c10::TypeKind::StreamObjType;
  });
}

// The operator's counters and route. For one that flagos did not register, it is the fallback's.
kernel::OpContext& context_of(const c10::OperatorHandle& op) { return kernel::fallback_context(op); }

void set_kind(const c10::OperatorHandle& op, kernel::RouteKind kind, std::string_view backend) {
  context_of(op).route.store(kind, std::memory_order_relaxed);
  if (environment().log_dispatch) {  // its calls don't pass the gate, which tells of the others
    LOG(WARNING) << "flagos: " << op.operator_name() << ": route to " << backend;
  }
}

}  // namespace

std::string dispatch_refusal(const c10::OperatorHandle& op) {
  switch (kernel_kind(c10::toString(op.operator_name()))) {
    case KernelKind::kBoxed:
    case KernelKind::kFallback:
      return "";
    case KernelKind::kView:
      return "it works on metadata alone and is never boxed";
    default:
      return kMadeOfOthers;
  }
}

std::string cpu_refusal(const c10::OperatorHandle& op) {
  if (made_of_others(op)) {
    return kMadeOfOthers;
  }
  if (const char* refusal = kernel::cpu_call_refusal(op, some_call(op.schema()))) {
    return refusal;
  }
  const std::string& name = op.operator_name().name;
  if (std::find(kCopies.begin(), kCopies.end(), name) != kCopies.end()) {
    return "tensors are copied to the CPU and back by it";
  }
  if (takes_storage(op.schema())) {
    return "it takes a storage or a stream of the device";
  }
  return op.hasComputedKernelForDispatchKey(DispatchKey::CPU) ? "" : "it has no kernel for the CPU";
}

std::string named_refusal(const c10::OperatorHandle& op) { return made_of_others(op) ? kMadeOfOthers : ""; }

void to_native(const c10::OperatorHandle& op) {
  kernel::restore_kernel(op);
  if (kernel::OpContext* context = kernel::find_context(c10::toString(op.operator_name()))) {
    context->route.store(kernel::RouteKind::kNative, std::memory_order_relaxed);
  }
}

void to_dispatch(const c10::OperatorHandle& op) {
  kernel::restore_kernel(op);
  set_kind(op, kernel::RouteKind::kDispatch, "dispatch");
}

void to_cpu(const c10::OperatorHandle& op) {
  const std::string debug = "libflagos, route to cpu";
  if (!kernel::replace_kernel_again(op, debug)) {
    kernel::replace_kernel(op, c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<CpuKernel>(context_of(op))),
                           debug);
  }
  set_kind(op, kernel::RouteKind::kCpu, "cpu");
}

void to_named(const c10::OperatorHandle& op, std::string_view backend, const c10::KernelFunction& kernel) {
  kernel::replace_kernel(op, kernel, "libflagos, route to " + std::string(backend));
  set_kind(op, kernel::RouteKind::kNamed, backend);
}

}  // namespace flagos::routing
