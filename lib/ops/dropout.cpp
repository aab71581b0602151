#include "ops/dropout.h"

#include <ATen/ATen.h>

#include "device/target_constants.h"
#include "kernel/replacement.h"

namespace flagos::ops {
namespace {

at::Tensor dropout(const at::Tensor& input, double p, bool train) {
  TORCH_CHECK(p >= 0 && p <= 1, "dropout probability has to be between 0 and 1, but got ", p);
  if (p == 0 || !train || input.sym_numel() == 0) {
    return input;
  }
  if (p == 1) {
    return input.mul(at::zeros({}, input.options()));
  }
  return input.mul(at::empty_like(input).bernoulli_(1 - p).div_(1 - p));
}

}  // namespace

void register_dropout() {
  if (target().has_index) {
    return;
  }
  for (const c10::DispatchKey key : {c10::DispatchKey::AutogradPrivateUse1, c10::DispatchKey::PrivateUse1}) {
    kernel::register_composite({"aten::dropout", ""}, key,
                               c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(dropout)));
  }
}

}  // namespace flagos::ops
