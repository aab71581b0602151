#include "ops/views.h"

#include <ATen/ops/_conj_native.h>
#include <ATen/ops/_conj_ops.h>
#include <ATen/ops/_neg_view_native.h>
#include <ATen/ops/_neg_view_ops.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_reshape_alias_ops.h>
#include <ATen/ops/alias_native.h>
#include <ATen/ops/alias_ops.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/as_strided_ops.h>
#include <ATen/ops/detach_native.h>
#include <ATen/ops/detach_ops.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/unfold_ops.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_complex_ops.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_as_real_ops.h>
#include <ATen/ops/view_native.h>
#include <ATen/ops/view_ops.h>

#include "boxing/alias.h"
#include "boxing/thread_state.h"
#include "kernel/registration.h"

namespace flagos::ops {
namespace {

// Note [View kernels]
// A view only makes a TensorImpl over the same storage, so the native function runs on the flagos tensor as it is. It
// copies the key set from the tensor but takes the device from the storage, which names the target; that one field is
// then set right. Views that PyTorch composes of these (transpose, select, slice, squeeze, permute, expand, diagonal,
// split, unbind, ...) stay unregistered: their CompositeExplicitAutograd kernels end in as_strided.
template <class Op, auto Native>
struct ViewKernel;

template <class Op, class... Args, at::Tensor (*Native)(const at::Tensor&, Args...)>
struct ViewKernel<Op, Native> {
  static at::Tensor call(const at::Tensor& self, Args... args) {
    count(thread_state().direct[id]);
    at::Tensor view = Native(self, args...);
    boxing::set_view_device(view.unsafeGetTensorImpl(), *self.unsafeGetTensorImpl());
    return view;
  }
  static inline uint32_t id = 0;
};

template <class Op, auto Native>
void add() {
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
  const auto& context = kernel::add_context(handle, KernelKind::kView);
  ViewKernel<Op, Native>::id = context.id;
  kernel::register_kernel(context,
                          c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN((ViewKernel<Op, Native>::call))));
}

namespace native = at::native;
using Self = const at::Tensor&;
using Sizes = at::IntArrayRef;

}  // namespace

void register_views() {
  add<at::_ops::_conj, static_cast<at::Tensor (*)(Self)>(native::_conj)>();
  add<at::_ops::_neg_view, static_cast<at::Tensor (*)(Self)>(native::_neg_view)>();
  add<at::_ops::_reshape_alias, static_cast<at::Tensor (*)(Self, Sizes, Sizes)>(native::_reshape_alias)>();
  add<at::_ops::alias, static_cast<at::Tensor (*)(Self)>(native::alias)>();
  add<at::_ops::as_strided,
      static_cast<at::Tensor (*)(Self, Sizes, Sizes, std::optional<int64_t>)>(native::as_strided_tensorimpl)>();
  add<at::_ops::detach, static_cast<at::Tensor (*)(Self)>(native::detach)>();
  add<at::_ops::unfold, static_cast<at::Tensor (*)(Self, int64_t, int64_t, int64_t)>(native::unfold)>();
  add<at::_ops::view, static_cast<at::Tensor (*)(Self, Sizes)>(native::view)>();
  add<at::_ops::view_as_complex, static_cast<at::Tensor (*)(Self)>(native::view_as_complex)>();
  add<at::_ops::view_as_real, static_cast<at::Tensor (*)(Self)>(native::view_as_real)>();
  add<at::_ops::view_dtype, static_cast<at::Tensor (*)(Self, at::ScalarType)>(native::view_dtype)>();
}

}  // namespace flagos::ops
