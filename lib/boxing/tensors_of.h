// The tensors in a boxed argument: one, or a list of them.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

namespace flagos::boxing {

// Calls `visit` with each; those of optional arguments that are there among them.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      visit(tensor);
    }
  }
}

// The argument with `convert` of each in its place, in lists of lists too; one that has none as it is.
template <class Convert>
c10::IValue converted(const c10::IValue& value, const Convert& convert) {
  if (value.isTensor()) {
    return convert(value.toTensor());
  }
  if (value.isTensorList()) {
    c10::List<at::Tensor> list;
    for (const at::Tensor& tensor : value.toTensorVector()) {
      list.push_back(convert(tensor));
    }
    return list;
  }
  if (value.isList() && value.toList().elementType()->kind() == c10::TypeKind::ListType) {
    c10::impl::GenericList list(value.toList().elementType());
    for (const c10::IValue& element : value.toListRef()) {
      list.push_back(converted(element, convert));
    }
    return list;
  }
  return value;
}

// Whether autograd would record a call with these arguments.
inline bool wants_gradient(c10::ArrayRef<c10::IValue> arguments) {
  bool wanted = false;
  for (const c10::IValue& argument : arguments) {
    for_each_tensor(argument, [&](const at::Tensor& tensor) { wanted = wanted || tensor.requires_grad(); });
  }
  return wanted && at::GradMode::is_enabled();
}

}  // namespace flagos::boxing
