#include "boxing/shallow_copy.h"

#include <utility>

#include "boxing/alias.h"

namespace flagos::boxing {
namespace {

at::Tensor retagged(const at::Tensor& tensor, void (*retag)(c10::TensorImpl*) noexcept) {
  auto* impl = tensor.unsafeGetTensorImpl();
  auto copy = impl->shallow_copy_and_detach(impl->version_counter(), impl->allow_tensor_metadata_change());
  retag(copy.get());
  return at::Tensor(std::move(copy));
}

}  // namespace

at::Tensor as_target(const at::Tensor& tensor) {
  return tensor.defined() && is_boxable(*tensor.unsafeGetTensorImpl()) ? retagged(tensor, &retag_as_target) : tensor;
}

at::Tensor as_flagos(const at::Tensor& tensor) {
  return tensor.defined() && tensor.device().type() == target().type ? retagged(tensor, &retag_as_flagos) : tensor;
}

}  // namespace flagos::boxing
