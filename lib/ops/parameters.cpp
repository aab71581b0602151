#include "ops/parameters.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include "device/target_constants.h"
#include "kernel/replacement.h"

namespace flagos::ops {
namespace {

bool is_dense(const at::Tensor& tensor) {
  const uint64_t keys = tensor.key_set().raw_repr();
  return (keys & kDenseBit) != 0 && (keys & c10::full_backend_mask) != 0;
}

bool has_compatible_shallow_copy_type(const at::Tensor& self, const at::Tensor& from) {
  return (is_dense(self) && is_dense(from)) ||
         self.unsafeGetTensorImpl()->has_compatible_shallow_copy_type(from.key_set());
}

}  // namespace

void register_parameter_moves() {
  for (const auto key : {c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::PrivateUse1}) {
    kernel::register_composite(
        {"aten::_has_compatible_shallow_copy_type", ""}, key,
        c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(has_compatible_shallow_copy_type)));
  }
}

}  // namespace flagos::ops
