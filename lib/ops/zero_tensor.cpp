#include "ops/zero_tensor.h"

#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <c10/core/SymIntArrayRef.h>

#include <optional>

#include "boxing/thread_state.h"
#include "device/guard.h"
#include "kernel/registration.h"

namespace flagos::ops {
namespace {

uint32_t g_zero_id = 0;

// Gives null for any size, on one device.
class NoMemory final : public c10::Allocator {
 public:
  explicit NoMemory(c10::Device device) : device_(device) {}
  c10::DataPtr allocate(size_t /*bytes*/) override { return {nullptr, nullptr, &nothing, device_}; }
  c10::DeleterFnPtr raw_deleter() const override { return &nothing; }
  void copy_data(void* /*to*/, const void* /*from*/, size_t /*bytes*/) const override {}

 private:
  static void nothing(void* /*pointer*/) {}
  c10::Device device_;
};

at::Tensor efficient_zero_tensor(c10::SymIntArrayRef size, std::optional<at::ScalarType> dtype,
                                 std::optional<at::Layout> /*layout*/, std::optional<at::Device> device,
                                 std::optional<bool> /*pin_memory*/) {
  count(thread_state().direct[g_zero_id]);
  at::Device on = device.value_or(at::Device(at::kPrivateUse1));
  if (!on.has_index()) {
    on = device::guard()->getDevice();
  }
  NoMemory allocator(on);
  const c10::DispatchKeySet keys({c10::DispatchKey::PrivateUse1, c10::DispatchKey::ZeroTensor});
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &allocator, keys,
                                   dtype.value_or(c10::get_default_dtype_as_scalartype()), std::nullopt);
}

}  // namespace

void register_zero_tensor() {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::_efficientzerotensor", "");
  const auto& context = kernel::add_context(op, KernelKind::kView);
  g_zero_id = context.id;
  kernel::register_kernel(context, c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(efficient_zero_tensor)));
}

}  // namespace flagos::ops
