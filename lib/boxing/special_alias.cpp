#include "boxing/special_alias.h"

#include "boxing/alias.h"

namespace flagos::boxing {

SpecialAlias::SpecialAlias(const at::Tensor& source_tensor, bool mutated_, SpecialAlias* next_)
    : source(source_tensor.unsafeGetTensorImpl()), mutated(mutated_), next(next_) {
  auto copy = source->shallow_copy_and_detach(source->version_counter(), /*allow_tensor_metadata_change=*/true);
  retag_as_target(copy.get());
  boxed.emplace(at::Tensor(std::move(copy)));
}

void SpecialAlias::write_back() const {
  // shallow_copy_from() checks that both are of one kind, which it reads off the key set.
  c10::intrusive_ptr<c10::TensorImpl> made = boxed->getIntrusivePtr();
  auto copy = made->shallow_copy_and_detach(source->version_counter(), source->allow_tensor_metadata_change());
  retag_as_flagos(copy.get());
  source->shallow_copy_from(copy);
}

}  // namespace flagos::boxing
