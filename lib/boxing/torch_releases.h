// What differs between the releases of PyTorch, found out by looking at what their headers declare: named tensors,
// which newer ones no longer have, and the slot of a tensor's Python object.
#pragma once

#include <c10/core/TensorImpl.h>

#if __has_include(<ATen/NamedTensorUtils.h>)
#include <ATen/NamedTensorUtils.h>
#endif

#include <type_traits>

namespace flagos::boxing {

#if __has_include(<ATen/NamedTensorUtils.h>)
template <class T>
inline constexpr bool is_dimname_v = std::is_same_v<T, at::Dimname>;

// Gives `to` the names of `from`, if either has any. Throws std::bad_alloc.
inline void copy_names(c10::TensorImpl* to, c10::TensorImpl* from) {
  if (from->has_named_tensor_meta() || to->has_named_tensor_meta()) {
    at::impl::internal_set_names_inplace(to, at::impl::get_opt_names(from), /*validate_names=*/false);
  }
}
#else
template <class T>
inline constexpr bool is_dimname_v = false;

inline void copy_names(c10::TensorImpl* /*to*/, c10::TensorImpl* /*from*/) {}
#endif

// Whether a Python object stands for the tensor whose slot this is, or has.
template <class Slot>
bool has_python_object(const Slot& slot) {
  if constexpr (requires { slot.pyobj_interpreter(); }) {
    return slot.pyobj_interpreter() != nullptr;
  } else {
    return slot.load_pyobj() != nullptr;
  }
}

}  // namespace flagos::boxing
