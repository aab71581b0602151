#include "ops/copies.h"

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_to_copy_ops.h>
#include <ATen/ops/clone_ops.h>
#include <ATen/ops/copy_ops.h>
#include <ATen/ops/empty_strided_ops.h>
#include <ATen/record_function.h>

#include <optional>

#include "device/target_constants.h"
#include "kernel/call_path.h"
#include "kernel/registration.h"
#include "redispatch/gate.h"
#include "redispatch/operator_table.h"

namespace flagos::ops {
namespace {

using at::Tensor;
using c10::KernelFunction;

// Note [Copies]
// PyTorch's clone() and _to_copy() are composites: empty_strided(), then copy_(), each by way of the dispatcher. Where
// the gate has let the call through, those two run the target's kernels, so they can be called at once, the rule of the
// fast path applied once more. A copy that is not the plain one (another layout, device, memory format or pinned
// memory, a source with gaps), one whose copy_() the dispatcher would not hand to the target, one that a profiler
// watches, and one on a target whose composite somebody has replaced run the composite. So both ways make the same
// kernels run on the same tensors.
struct TargetKernel {
  explicit TargetKernel(const char* name, const char* overload = "")
      : handle(c10::Dispatcher::singleton().findSchemaOrThrow(name, overload)),
        slot(kernel_slot(handle, {c10::DispatchKeySet::RAW, target().dense_keys})) {}

  template <class R, class... Args>
  R call(Args... args) const {
    return slot.template call<R, Args...>(handle, kernel::target_keys(), std::forward<Args>(args)...);
  }

  c10::OperatorHandle handle;
  const KernelFunction& slot;  // follows later registrations
};

struct Kernels {
  TargetKernel clone{"aten::clone"};
  TargetKernel to_copy{"aten::_to_copy"};
  TargetKernel empty_strided{"aten::empty_strided"};
  TargetKernel copy{"aten::copy_"};
  // What the slots of the composites held when the library was loaded.
  KernelFunction loaded_clone = clone.slot;
  KernelFunction loaded_to_copy = to_copy.slot;
};

// Null until shorten_copies(); never destroyed: kernels may run while the process exits.
const Kernels* g_kernels = nullptr;

// As the dispatcher asks it, from what the thread has cached: at::hasCallbacks() locks a mutex of the whole process.
bool is_watched() { return at::getStepCallbacksUnlessEmpty(at::RecordScope::FUNCTION).has_value(); }

bool is_plain_source(const Tensor& source) {
  return source.unsafeGetTensorImpl()->is_non_overlapping_and_dense() && !is_watched();
}

// Whether the dispatcher would hand copy_() of `source` to `made` to the target's kernel.
bool copy_is_fast(const Tensor& made, const Tensor& source) {
  return is_fast(effective_keys((made.key_set() | source.key_set()).raw_repr()));
}

Tensor copied(const Tensor& source, c10::ScalarType dtype, bool non_blocking) {
  const Kernels& kernels = *g_kernels;
  // Symbolic sizes, as the operator's schema has them: a call with plain ones would be boxed.
  Tensor made =
      kernels.empty_strided.call<Tensor, c10::SymIntArrayRef, c10::SymIntArrayRef, std::optional<c10::ScalarType>,
                                 std::optional<c10::Layout>, std::optional<c10::Device>, std::optional<bool>>(
          source.sym_sizes(), source.sym_strides(), dtype, c10::kStrided, source.device(), false);
  if (C10_LIKELY(copy_is_fast(made, source))) {
    kernels.copy.call<Tensor&, Tensor&, const Tensor&, bool>(made, source, non_blocking);
  } else {
    made.copy_(source, non_blocking);
  }
  return made;
}

Tensor clone(const Tensor& source, std::optional<c10::MemoryFormat> format) {
  const Kernels& kernels = *g_kernels;
  if (C10_LIKELY(format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve &&
                 is_plain_source(source) && kernels.clone.slot._equalsBoxedAndUnboxed(kernels.loaded_clone))) {
    return copied(source, source.scalar_type(), /*non_blocking=*/false);
  }
  return kernels.clone.call<Tensor, const Tensor&, std::optional<c10::MemoryFormat>>(source, format);
}

Tensor to_copy(const Tensor& source, std::optional<c10::ScalarType> dtype, std::optional<c10::Layout> layout,
               std::optional<c10::Device> device, std::optional<bool> pinned, bool non_blocking,
               std::optional<c10::MemoryFormat> format) {
  const Kernels& kernels = *g_kernels;
  if (C10_LIKELY(format.value_or(c10::MemoryFormat::Preserve) == c10::MemoryFormat::Preserve &&
                 layout.value_or(c10::kStrided) == c10::kStrided &&
                 device.value_or(source.device()) == source.device() && !pinned.value_or(false) &&
                 is_plain_source(source) && kernels.to_copy.slot._equalsBoxedAndUnboxed(kernels.loaded_to_copy))) {
    return copied(source, dtype.value_or(source.scalar_type()), non_blocking);
  }
  return kernels.to_copy.call<Tensor, const Tensor&, std::optional<c10::ScalarType>, std::optional<c10::Layout>,
                              std::optional<c10::Device>, std::optional<bool>, bool, std::optional<c10::MemoryFormat>>(
      source, dtype, layout, device, pinned, non_blocking, format);
}

// From now on the boxed kernel calls `way` in place of the target's.
void replace(const char* name, KernelFunction way) {
  if (kernel::OpContext* context = kernel::find_context(name);
      context != nullptr && context->kind == KernelKind::kBoxed) {
    context->target_kernel = new KernelFunction(std::move(way));  // never destroyed, as the contexts
  }
}

}  // namespace

void shorten_copies() {
  g_kernels = new Kernels();
  replace("aten::clone", KernelFunction::makeFromUnboxedFunction(TORCH_FN(clone)));
  replace("aten::_to_copy", KernelFunction::makeFromUnboxedFunction(TORCH_FN(to_copy)));
}

}  // namespace flagos::ops
