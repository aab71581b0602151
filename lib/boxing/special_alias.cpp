#include "boxing/special_alias.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "boxing/alias.h"

namespace flagos::boxing {

SpecialAlias::SpecialAlias(const at::Tensor& source_tensor, bool mutated_, SpecialAlias* next_)
    : source(source_tensor.unsafeGetTensorImpl()), mutated(mutated_), next(next_) {
  auto copy = source->shallow_copy_and_detach(source->version_counter(), /*allow_tensor_metadata_change=*/true);
  retag_as_target(copy.get());
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
}

}  // namespace flagos::boxing
