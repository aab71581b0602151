#include "kernel/fallback.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>
#include <c10/util/Logging.h>

#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>

#include "boxing/tensors_of.h"
#include "boxing/thread_state.h"
#include "device/environment.h"
#include "device/target_constants.h"
#include "flagos/redispatch.h"
#include "kernel/cpu_call.h"
#include "kernel/stack_call.h"

namespace flagos::kernel {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr std::array kFallbackKeys{DispatchKey::PrivateUse1, DispatchKey::SparsePrivateUse1,
                                   DispatchKey::SparseCsrPrivateUse1, DispatchKey::QuantizedPrivateUse1,
                                   DispatchKey::NestedTensorPrivateUse1};

void add_keys(DispatchKeySet& keys, const at::Tensor& tensor) {
  if (tensor.defined()) {
    keys = keys | boxed_key_set(tensor.key_set());
  }
}

// A key of a flagos tensor, and the target's.
DispatchKey target_key(DispatchKey ours) {
  return c10::toRuntimePerBackendFunctionalityKey(c10::toFunctionalityKey(ours),
                                                  c10::toBackendComponent(target().dense_key));
}

// The key at which the boxed call would end: the backend's, for the arguments' layout. `arrived` is where ours is.
DispatchKey backend_key(const c10::OperatorHandle& op, const torch::jit::Stack& stack, DispatchKey arrived) {
  DispatchKeySet keys(target_key(arrived));
  for (auto value = stack.end() - static_cast<std::ptrdiff_t>(op.schema().arguments().size()); value != stack.end();
       ++value) {
    boxing::for_each_tensor(*value, [&](const at::Tensor& tensor) { add_keys(keys, tensor); });
  }
  const uint64_t layouts = keys.raw_repr() & (c10::full_backend_mask | kDenseBit | kSpecialLayoutBits);
  return DispatchKeySet(DispatchKeySet::RAW, layouts).highestPriorityTypeId();
}

// Once per operator.
bool first_time(const c10::OperatorHandle& op) {
  static auto* mutex = new std::mutex();
  static auto* seen = new std::unordered_set<c10::OperatorHandle>();
  const std::lock_guard lock(*mutex);
  return seen->insert(op).second;
}

void run_on_cpu(const OpContext& context, DispatchKey missing, torch::jit::Stack& stack) {
  const auto& op = context.handle;
  const FallbackPolicy policy = environment().fallback;
  const char* refusal = cpu_call_refusal(op, stack);
  const bool cpu_has_kernel = target().has_index && op.hasComputedKernelForDispatchKey(DispatchKey::CPU);
  TORCH_CHECK_NOT_IMPLEMENTED(cpu_has_kernel, "flagos: ", op.operator_name(), " has no kernel for ", missing,
                              target().has_index ? " and none for the CPU" : "",
                              ", the target of flagos tensors. Give the operator a kernel there, or a composite one.");
  TORCH_CHECK_NOT_IMPLEMENTED(refusal == nullptr, "flagos: ", op.operator_name(), " has no kernel for ", missing,
                              " and does not fall back to the CPU: ", refusal, ".");
  TORCH_CHECK_NOT_IMPLEMENTED(policy != FallbackPolicy::kError, "flagos: ", op.operator_name(), " has no kernel for ",
                              missing,
                              ". FLAGOS_FALLBACK=error forbids running it on the CPU; set it to warn or allow.");
  if (policy == FallbackPolicy::kWarn && first_time(op)) {
    TORCH_WARN("flagos: ", op.operator_name(), " has no kernel for ", missing,
               " and runs on the CPU, by copies. FLAGOS_FALLBACK=allow silences this, error forbids it.");
  }
  if (environment().log_fallback) {
    LOG(WARNING) << "flagos: fallback to the CPU: " << op.operator_name();
  }
  count(thread_state().refused[context.id * ThreadState::kReasons + static_cast<size_t>(Reason::kNoKernel)]);
  call_on_cpu(op, context.mutated_args, stack);
}

RecordedCall g_recorded = nullptr;

// Whether autograd is to record what the kernel calls: it would record this call, has not yet come to an end for it, as
// it has below an autograd kernel of the operator's own, and can join the results to the caller's graph.
bool records_inside(const OpContext& context, const torch::jit::Stack& stack) {
  const auto& schema = context.handle.schema();
  constexpr auto kAutograd = DispatchKey::AutogradPrivateUse1;
  return !c10::impl::tls_local_dispatch_key_set().excluded_.has(kAutograd) && context.mutated_args == 0 &&
         std::none_of(schema.returns().begin(), schema.returns().end(),
                      [](const c10::Argument& result) { return result.alias_info() != nullptr; }) &&
         boxing::wants_gradient(torch::jit::last(stack, schema.arguments().size()));
}

void fallback(const c10::OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
  const OpContext& context = fallback_context(op);
  const DispatchKey key = backend_key(op, *stack, keys.highestPriorityTypeId());
  if (!op.hasComputedKernelForDispatchKey(key)) {
    run_on_cpu(context, key, *stack);
  } else if (!records_inside(context, *stack) || !g_recorded(op, *stack)) {
    call_on_stack(context, *stack, DispatchKeySet(key));
  }
}

class StackKernel final : public BoxingKernel {
 public:
  StackKernel(const OpContext& context, DispatchKey key) : BoxingKernel(context), arrived_(target_key(key)) {}
  void operator()(const c10::OperatorHandle& /*op*/, DispatchKeySet /*keys*/, torch::jit::Stack* stack) const {
    call_on_stack(context_, *stack, arrived_);
  }

 private:
  const DispatchKeySet arrived_;
};

void register_boxed(const c10::OperatorName& name, DispatchKey key) {
  const auto op = c10::Dispatcher::singleton().findSchema(name);
  if (op.has_value() && !op->hasKernelForDispatchKey(key)) {
    OpContext& context = boxed_context(*op);
    auto kernel = std::make_unique<StackKernel>(context, key);
    register_kernel(context, c10::KernelFunction::makeFromBoxedFunctor(std::move(kernel)), key);
  }
}

}  // namespace

void register_special_layouts() {
  for (const DispatchKey key : kFallbackKeys) {
    if (key == DispatchKey::PrivateUse1) {
      continue;
    }
    for (const auto& name : c10::Dispatcher::singleton().getRegistrationsForDispatchKey(target_key(key))) {
      register_boxed(name, key);
    }
  }
  // The target has PyTorch's defaults here. That of copy_ hands a PrivateUse1 tensor to _copy_from(); those of the
  // views take a quantized result's device from its storage, which names the target.
  constexpr std::array kQuantized{std::pair{"copy_", ""}, std::pair{"alias", ""}, std::pair{"select", "int"},
                                  std::pair{"slice", "Tensor"}};
  for (const auto& [name, overload] : kQuantized) {
    register_boxed({std::string("aten::") + name, overload}, DispatchKey::QuantizedPrivateUse1);
  }
  // A composite that asks for the device: on the CPU alone it pays no attention to the layout.
  register_boxed({"aten::scalar_tensor", ""}, DispatchKey::SparsePrivateUse1);
  register_boxed({"aten::scalar_tensor", ""}, DispatchKey::SparseCsrPrivateUse1);
}

void register_fallbacks(RecordedCall recorded) {
  g_recorded = recorded;
  static auto* registrations = new std::deque<c10::RegistrationHandleRAII>();
  for (const DispatchKey key : kFallbackKeys) {
    registrations->push_back(c10::Dispatcher::singleton().registerFallback(
        key, c10::KernelFunction::makeFromBoxedFunction<&fallback>(), "libflagos"));
  }
}

}  // namespace flagos::kernel
