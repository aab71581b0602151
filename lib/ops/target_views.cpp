#include "ops/target_views.h"

#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <vector>

#include "boxing/shallow_copy.h"

namespace flagos::ops {
namespace {

// Each tensor by the function; lists, since a compiled graph changes all of its inputs in one call.
template <at::Tensor (*Change)(const at::Tensor&)>
std::vector<at::Tensor> changed(at::TensorList tensors) {
  std::vector<at::Tensor> made;
  made.reserve(tensors.size());
  for (const at::Tensor& tensor : tensors) {
    made.push_back(Change(tensor));
  }
  return made;
}

}  // namespace

// For code below autograd: the views have no history, and share memory and version counter with what they are of.
void register_target_views() {
  static torch::Library library(torch::Library::DEF, "flagos", std::nullopt, __FILE__, __LINE__);
  library.def("_to_target(Tensor(a)[] tensors) -> Tensor(a)[]", &changed<&boxing::as_target>);
  library.def("_from_target(Tensor(a)[] tensors) -> Tensor(a)[]", &changed<&boxing::as_flagos>);
}

}  // namespace flagos::ops
