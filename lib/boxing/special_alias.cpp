#include "boxing/special_alias.h"

#include <ATen/SparseCsrTensorImpl.h>
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <vector>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"

namespace flagos::boxing {
namespace {

// Null for any other layout.
at::SparseCsrTensorImpl* as_compressed(c10::TensorImpl* impl) {
  return impl->key_set().has_all(c10::DispatchKeySet(c10::DispatchKey::SparseCsr))
             ? static_cast<at::SparseCsrTensorImpl*>(impl)
             : nullptr;
}

// Gives `to` the parts of `from`, each of them as `view` shows it.
void take_parts(at::SparseCsrTensorImpl& to, const at::SparseCsrTensorImpl& from,
                at::Tensor (*view)(const at::Tensor&)) {
  const std::vector<int64_t> sizes = from.sizes().vec();  // may be those of `to`
  to.set_member_tensors(view(from.compressed_indices()), view(from.plain_indices()), view(from.values()), sizes);
}

}  // namespace

SpecialAlias::SpecialAlias(const at::Tensor& source_tensor, bool mutated_, SpecialAlias* next_)
    : source(source_tensor.unsafeGetTensorImpl()), mutated(mutated_), next(next_) {
  auto copy = source->shallow_copy_and_detach(source->version_counter(), /*allow_tensor_metadata_change=*/true);
  retag_as_target(copy.get());
  if (auto* compressed = as_compressed(copy.get())) {
    take_parts(*compressed, *compressed, &as_target);
  }
  boxed.emplace(at::Tensor(std::move(copy)));
  // Some sparse kernels ask requires_grad() to know what to keep for the backward (_sparse_mm_reduce_impl). Only below
  // autograd: above it, the alias would be recorded.
  const bool below_autograd = (c10::impl::tls_local_dispatch_key_set().excluded_.raw_repr() &
                               keys::functionality(c10::DispatchKey::AutogradFunctionality)) != 0;
  if (below_autograd && at::GradMode::is_enabled() && source_tensor.requires_grad()) {
    boxed->set_requires_grad(true);
  }
}

void SpecialAlias::write_back() const {
  // shallow_copy_from() checks that both are of one kind, which it reads off the key set.
  c10::intrusive_ptr<c10::TensorImpl> made = boxed->getIntrusivePtr();
  auto copy = made->shallow_copy_and_detach(source->version_counter(), source->allow_tensor_metadata_change());
  retag_as_flagos(copy.get());
  source->shallow_copy_from(copy);
  // A compressed tensor's leaves its parts as they are.
  if (auto* compressed = as_compressed(source)) {
    take_parts(*compressed, *as_compressed(copy.get()), &as_flagos);
  }
}

}  // namespace flagos::boxing
