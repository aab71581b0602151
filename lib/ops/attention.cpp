#include "ops/attention.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/transformers/attention.h>
#include <ATen/native/transformers/sdp_utils_cpp.h>

#include <tuple>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"
#include "device/target_constants.h"
#include "flagos/target.h"
#include "kernel/replacement.h"

namespace flagos::ops {
namespace {

using at::Tensor;
using Flash = std::tuple<Tensor, Tensor, Tensor, Tensor, c10::SymInt, c10::SymInt, Tensor, Tensor, Tensor>;

// What torch.compile and torch.export trace with: subclasses in Python, which carry a flagos tensor's metadata.
bool is_traced(const Tensor& tensor) {
  constexpr uint64_t kBatched = keys::bits(c10::DispatchKey::FuncTorchBatched);
  constexpr uint64_t kPython = keys::bits(c10::DispatchKey::Python);
  const uint64_t set = tensor.key_set().raw_repr();
  return (set & kPython) != 0 && (set & kBatched) == 0;
}

// What torch.func's transforms and functionalization make, which carry their tensor's metadata too.
bool is_wrapped(const Tensor& tensor) {
  constexpr uint64_t kWrapped = keys::bits(c10::DispatchKey::FuncTorchBatched) |
                                keys::bits(c10::DispatchKey::FuncTorchGradWrapper) |
                                keys::bits(c10::DispatchKey::Functionalize);
  return (tensor.key_set().raw_repr() & kWrapped) != 0 && !tensor.is_nested();
}

// A tensor of the target without memory, with the metadata of a traced one, whose sizes may be symbols.
Tensor stand_in(const Tensor& traced) {
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(target().dense_key), traced.dtype(),
                                                   to_target_device(traced.device()));
  impl->set_sizes_and_strides(traced.sym_sizes(), traced.sym_strides());
  Tensor made(std::move(impl));
  return traced.requires_grad() ? made.set_requires_grad(true) : made;
}

// The target's choice, by metadata alone: its kernel, past the dispatcher's modes.
int64_t choose_traced(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
                      double dropout, bool causal, std::optional<double> scale, bool enable_gqa) {
  std::optional<Tensor> mask_stand_in;
  if (mask.has_value()) {
    mask_stand_in = stand_in(*mask);
  }
  return at::_ops::_fused_sdp_choice::redispatch(c10::DispatchKeySet(target().dense_key), stand_in(query),
                                                 stand_in(key), stand_in(value), mask_stand_in, dropout, causal, scale,
                                                 enable_gqa);
}

// CUDA's flash kernels are reached by the pair of operators that PyTorch keeps for such devices.
int64_t reached(int64_t choice) {
  const bool flash = choice == static_cast<int64_t>(at::SDPBackend::flash_attention);
  return flash && target().has_index ? static_cast<int64_t>(at::SDPBackend::overrideable) : choice;
}

int64_t choose(const Tensor& query, const Tensor& key, const Tensor& value, const std::optional<Tensor>& mask,
               double dropout, bool causal, std::optional<double> scale, bool enable_gqa) {
  const bool all_traced = is_traced(query) && is_traced(key) && is_traced(value);
  const bool any_wrapped = is_wrapped(query) || is_wrapped(key) || is_wrapped(value);
  // Not on CUDA: "overrideable" returns numbers beside tensors, which vmap can't batch.
  if (all_traced || (any_wrapped && !target().has_index)) {
    return reached(choose_traced(query, key, value, mask, dropout, causal, scale, enable_gqa));
  }
  if (!boxing::is_boxable(*query.unsafeGetTensorImpl())) {
    return static_cast<int64_t>(at::SDPBackend::math);  // wrapped: nothing to ask the target about
  }
  // The choice depends on whether gradients are wanted, which a copy without history would hide.
  const auto seen = [](const Tensor& tensor) {
    Tensor copy = boxing::as_target(tensor);
    return tensor.requires_grad() && !copy.requires_grad() ? copy.requires_grad_() : copy;
  };
  std::optional<Tensor> mask_seen = mask;
  if (mask.has_value()) {
    mask_seen = seen(*mask);
  }
  return reached(
      at::_fused_sdp_choice(seen(query), seen(key), seen(value), mask_seen, dropout, causal, scale, enable_gqa));
}

// The flash kernels want the head dimension to be a multiple of this (their own check says so).
constexpr int64_t kHeadAlignment = 8;

Tensor padded(const Tensor& tensor) {
  const c10::SymInt size = tensor.sym_size(-1);
  return size % kHeadAlignment == 0
             ? tensor
             : at::pad_symint(tensor, {c10::SymInt(0), c10::SymInt(kHeadAlignment) - size % kHeadAlignment});
}

Flash flash_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                      const std::optional<Tensor>& /*attn_bias: never with flash*/, double dropout, bool causal,
                      bool return_debug_mask, std::optional<double> scale) {
  const c10::SymInt head_size = query.sym_size(-1);
  const double original_scale = sdp::calculate_scale(query, scale).guard_float(__FILE__, __LINE__);
  Flash result = at::_scaled_dot_product_flash_attention(padded(query), padded(key), padded(value), dropout, causal,
                                                         return_debug_mask, original_scale);
  if (Tensor& output = std::get<0>(result); output.sym_size(-1) != head_size) {
    output = output.slice_symint(-1, 0, head_size);
  }
  return result;
}

}  // namespace

void register_attention() {
  at::native::_fused_sdp_choice_stub.set_privateuse1_dispatch_ptr(&choose);
  for (const auto key : {c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::PrivateUse1}) {
    kernel::register_composite({"aten::_scaled_dot_product_fused_attention_overrideable", ""}, key,
                               c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(flash_attention)));
  }
}

}  // namespace flagos::ops
