#include "boxing/shallow_copy.h"

#include <ATen/ops/_efficientzerotensor.h>

#include <utility>

#include "boxing/alias.h"
#include "boxing/tensor_impl_members.h"
#include "flagos/target.h"

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

at::Tensor target_stand_in(const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.device().type() != c10::DeviceType::PrivateUse1 ||
      is_boxable(*tensor.unsafeGetTensorImpl())) {
    return as_target(tensor);
  }
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides() || tensor.is_nested() ||
      tensor.layout() != c10::kStrided) {
    return {};
  }
  auto impl = c10::make_intrusive<c10::TensorImpl>(c10::DispatchKeySet(target().dense_key), tensor.dtype(),
                                                   to_target_device(tensor.device()));
  impl->set_sizes_and_strides(tensor.sizes(), tensor.strides());
  return at::Tensor(std::move(impl));
}

void add_autocast_key(const at::Tensor& tensor) {
  auto* impl = tensor.unsafeGetTensorImpl();
  impl->*Members::key_set =
      impl->key_set() | c10::getAutocastRelatedKeySetFromBackend(c10::toBackendComponent(target().dense_key));
}

at::Tensor flagos_zero_tensor(const at::Tensor& tensor) {
  const c10::DeviceIndex index = target().has_index ? tensor.device().index() : c10::DeviceIndex{0};
  return at::_efficientzerotensor(tensor.sizes(),
                                  tensor.options().device(c10::Device(c10::DeviceType::PrivateUse1, index)));
}

at::Tensor as_flagos(const at::Tensor& tensor) {
  if (tensor.defined() && tensor.device().type() == target().type && tensor._is_zerotensor()) {
    return flagos_zero_tensor(tensor);
  }
  return tensor.defined() && tensor.device().type() == target().type ? retagged(tensor, &retag_as_flagos) : tensor;
}

}  // namespace flagos::boxing
