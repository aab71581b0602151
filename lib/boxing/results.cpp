#include "boxing/results.h"

#include <c10/core/TensorImpl.h>

#include "boxing/shallow_copy.h"
#include "boxing/torch_releases.h"

namespace flagos::boxing {
namespace {

// Whether nobody but `tensor` can see its impl, so that retagging it in place can't be noticed.
bool is_private(const at::Tensor& tensor) {
  return tensor.use_count() == 1 && tensor.weak_use_count() == 1 &&
         !has_python_object(*tensor.unsafeGetTensorImpl()->pyobj_slot());
}

C10_NOINLINE at::Tensor retagged_copy(const at::Tensor& tensor) {
  const auto* impl = tensor.unsafeGetTensorImpl();
  auto copy = impl->shallow_copy_and_detach(impl->version_counter(), impl->allow_tensor_metadata_change());
  retag_as_flagos(copy.get());
  return at::Tensor(std::move(copy));
}

}  // namespace

at::Tensor unbox_tensor(Frame& frame, at::Tensor&& result) {
  c10::TensorImpl* const impl = result.unsafeGetTensorImpl();
  const uint64_t backends = impl->key_set().raw_repr() & c10::full_backend_mask;
  if (backends != target().backend_bit) {
    return std::move(result);  // (a), (b), or a wrapper whose inside has been seen to
  }
  if (c10::TensorImpl* source = frame.source_of(impl)) {
    return at::Tensor(c10::intrusive_ptr<c10::TensorImpl>::reclaim_copy(source));
  }
  if (C10_UNLIKELY(!frame.retags_results())) {
    return std::move(result);
  }
  if (C10_UNLIKELY(impl->key_set().has(c10::DispatchKey::ZeroTensor))) {
    return flagos_zero_tensor(result);
  }
  if (C10_LIKELY(is_private(result))) {
    retag_as_flagos(impl);
    return std::move(result);
  }
  return retagged_copy(result);
}

at::Tensor& unbox_reference(Frame& frame, const at::Tensor& result) {
  const at::Tensor* handle = frame.handle_of(result.unsafeGetTensorImpl());
  return const_cast<at::Tensor&>(handle != nullptr ? *handle : result);
}

}  // namespace flagos::boxing
