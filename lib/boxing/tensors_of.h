// The tensors in a boxed argument: one, or a list of them, also of optional ones, also of lists.
#pragma once

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/core/ivalue.h>

#include <optional>

namespace flagos::boxing {

inline bool is_list_of_lists(const c10::IValue& value) {
  return value.isList() && value.toList().elementType()->kind() == c10::TypeKind::ListType;
}

// Calls `visit` with each that is there.
template <class Visit>
void for_each_tensor(const c10::IValue& value, const Visit& visit) {
  if (value.isTensor()) {
    visit(value.toTensor());
  } else if (value.isTensorList()) {
    for (const at::Tensor& tensor : value.toTensorVector()) {
      visit(tensor);
    }
  } else if (value.isOptionalTensorList()) {
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      if (tensor.has_value()) {
        visit(*tensor);
      }
    }
  } else if (is_list_of_lists(value)) {
    for (const c10::IValue& element : value.toListRef()) {
      for_each_tensor(element, visit);
    }
  }
}

// The argument with `convert` of each in its place; one that has none as it is.
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
  if (value.isOptionalTensorList()) {
    c10::List<std::optional<at::Tensor>> list;
    for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
      list.push_back(tensor.has_value() ? std::optional<at::Tensor>(convert(*tensor)) : std::nullopt);
    }
    return list;
  }
  if (is_list_of_lists(value)) {
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
