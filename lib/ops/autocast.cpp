#include "ops/autocast.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/library.h>

#include <deque>
#include <set>
#include <string>
#include <string_view>

#include "device/target_constants.h"

namespace flagos::ops {
namespace {

at::Tensor binary_cross_entropy_banned(const at::Tensor& /*self*/, const at::Tensor& /*target*/,
                                       const std::optional<at::Tensor>& /*weight*/, int64_t /*reduction*/) {
  TORCH_CHECK(false,
              "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast. Use "
              "binary_cross_entropy_with_logits or BCEWithLogitsLoss, which are safe.");
}

// Whether the target's own autocast treats the operator, given as the macros do: "mm", or "norm, Scalar". PyTorch's
// lists are CUDA's; the CPU's are shorter, and kept in a source file, so the dispatcher is asked.
bool target_treats(const std::string& name_and_overload) {
  const size_t comma = name_and_overload.find(',');
  const std::string overload = comma == std::string::npos ? "" : name_and_overload.substr(comma + 2);
  const auto op = c10::Dispatcher::singleton().findSchema({"aten::" + name_and_overload.substr(0, comma), overload});
  return op.has_value() && op->hasKernelForDispatchKey(target().has_index ? c10::DispatchKey::AutocastCUDA
                                                                          : c10::DispatchKey::AutocastCPU);
}

// The names that PyTorch's macros expect: `m`, and using-declarations of its namespaces.
void register_lists(torch::Library& m) {
  using namespace at;            // NOLINT(google-build-using-namespace)
  using namespace at::autocast;  // NOLINT(google-build-using-namespace)
#define FLAGOS_LOWER_PRECISION(...)                       \
  if (target_treats(#__VA_ARGS__)) {                      \
    KERNEL_PRIVATEUSEONE(__VA_ARGS__, lower_precision_fp) \
  }
#define FLAGOS_FP32(...)                    \
  if (target_treats(#__VA_ARGS__)) {        \
    KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32) \
  }
#define FLAGOS_FP32_SET_OPT_DTYPE(...)                    \
  if (target_treats(#__VA_ARGS__)) {                      \
    KERNEL_PRIVATEUSEONE(__VA_ARGS__, fp32_set_opt_dtype) \
  }
#define FLAGOS_PROMOTE(...)                    \
  if (target_treats(#__VA_ARGS__)) {           \
    KERNEL_PRIVATEUSEONE(__VA_ARGS__, promote) \
  }
  AT_FORALL_LOWER_PRECISION_FP(FLAGOS_LOWER_PRECISION)
  AT_FORALL_FP32(FLAGOS_FP32)
  AT_FORALL_FP32_SET_OPT_DTYPE(FLAGOS_FP32_SET_OPT_DTYPE)
  if (target().has_index) {  // norm without a dtype; the CPU's autocast leaves it alone
    AT_FORALL_DIFFERENT_REDISPATCH_SIGNATURE(KERNEL_DIFFERENT_REDISPATCH_SIGNATURE_PRIVATEUSEONE)
  }
  AT_FORALL_PROMOTE(FLAGOS_PROMOTE)
#undef FLAGOS_LOWER_PRECISION
#undef FLAGOS_FP32
#undef FLAGOS_FP32_SET_OPT_DTYPE
#undef FLAGOS_PROMOTE
  // Each target's own policy: CUDA forbids it, the CPU runs it in fp32.
  if (target().has_index) {
    m.impl("binary_cross_entropy", TORCH_FN(binary_cross_entropy_banned));
  } else {
    KERNEL_PRIVATEUSEONE(binary_cross_entropy, fp32)
  }
}

// Note [The CPU's other operators]
// PyTorch's public lists are CUDA's. The CPU's autocast treats some ninety operators more, whose lists are in a source
// file; which they are the dispatcher tells, and what is done with them this: all run in float32 but for these. (Torch
// 2.11: aten/src/ATen/autocast_mode.cpp, TORCH_LIBRARY_IMPL(aten, AutocastCPU). Convolutions with named padding and
// their like compose operators that are treated themselves.)
enum class CpuPolicy { kFloat32, kLowerPrecision, kWidest };

CpuPolicy cpu_policy(const c10::OperatorName& name) {
  static const std::set<std::string_view> kLower = {
      "aten::_addmm_activation", "aten::_native_multi_head_attention", "aten::conv1d", "aten::conv2d", "aten::conv3d",
      "aten::mkldnn_rnn_layer"};
  static const std::set<std::string_view> kPromoted = {"aten::cat", "aten::stack", "aten::index_copy"};
  if (kLower.contains(name.name)) {
    return CpuPolicy::kLowerPrecision;
  }
  return kPromoted.contains(name.name) ? CpuPolicy::kWidest : CpuPolicy::kFloat32;
}

// The dtype that the tensors among `arguments` are cast to.
at::ScalarType dtype_for(CpuPolicy policy, c10::ArrayRef<c10::IValue> arguments) {
  const at::ScalarType lower = at::autocast::get_autocast_dtype(at::kPrivateUse1);
  if (policy == CpuPolicy::kFloat32) {
    return at::kFloat;
  }
  at::ScalarType dtype = lower;
  for (const c10::IValue& argument : arguments) {
    if (policy == CpuPolicy::kWidest && argument.isTensor()) {
      dtype = at::autocast::prioritize(dtype, argument.toTensor(), at::kPrivateUse1);
    } else if (policy == CpuPolicy::kWidest && argument.isTensorList()) {
      dtype = at::autocast::prioritize(dtype, argument.toTensorVector(), at::kPrivateUse1);
    }
  }
  return dtype;
}

c10::IValue cast(const c10::IValue& value, at::ScalarType dtype) {
  if (value.isTensor()) {
    return at::autocast::cached_cast(dtype, value.toTensor(), at::kPrivateUse1);
  }
  if (value.isTensorList()) {
    return at::autocast::cached_cast(dtype, value.toTensorVector(), at::kPrivateUse1);
  }
  return value;
}

void run_with_the_cpus_policy(const c10::OperatorHandle& op, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard below(c10::DispatchKey::AutocastPrivateUse1);
  const size_t count = op.schema().arguments().size();
  const auto arguments = torch::jit::last(*stack, count);
  const at::ScalarType dtype = dtype_for(cpu_policy(op.operator_name()), arguments);
  for (size_t i = stack->size() - count; i < stack->size(); ++i) {
    (*stack)[i] = cast((*stack)[i], dtype);
  }
  op.callBoxed(*stack);
}

void register_the_cpus_others(std::deque<c10::RegistrationHandleRAII>& registrations) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const auto& name : dispatcher.getRegistrationsForDispatchKey(c10::DispatchKey::AutocastCPU)) {
    const auto op = dispatcher.findSchema(name);
    if (op.has_value() && !op->hasKernelForDispatchKey(c10::DispatchKey::AutocastPrivateUse1)) {
      registrations.push_back(
          dispatcher.registerImpl(name, c10::DispatchKey::AutocastPrivateUse1,
                                  c10::KernelFunction::makeFromBoxedFunction<&run_with_the_cpus_policy>(), std::nullopt,
                                  nullptr, "libflagos, the CPU's autocast"));
    }
  }
}

}  // namespace

void register_autocast() {
  // Never destroyed: the dispatcher may be gone by the time static destructors run.
  static auto* library =
      new torch::Library(torch::Library::IMPL, "aten", c10::DispatchKey::AutocastPrivateUse1, __FILE__, __LINE__);
  register_lists(*library);
  static auto* registrations = new std::deque<c10::RegistrationHandleRAII>();
  if (!target().has_index) {
    register_the_cpus_others(*registrations);
  }
  registrations->push_back(c10::Dispatcher::singleton().registerFallback(
      c10::DispatchKey::AutocastPrivateUse1, c10::KernelFunction::makeFallthrough(), "libflagos"));
}

}  // namespace flagos::ops
