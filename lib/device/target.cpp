#include "device/target.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "flagos/target.h"

namespace flagos {

TargetConstants g_target;

namespace device {
namespace {

bool cuda_usable() { return at::detail::getCUDAHooks().hasCUDA() && at::detail::getCUDAHooks().deviceCount() > 0; }

TargetConstants constants_for(c10::DeviceType type) {
  TargetConstants made;
  made.type = type;
  made.dense_key = type == c10::DeviceType::CUDA ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU;
  made.dense_keys = c10::DispatchKeySet(made.dense_key).raw_repr();
  made.backend_bit = made.dense_keys & c10::full_backend_mask;
  made.swap_bits = made.backend_bit | kPrivateUse1Bit;
  made.fast_limit = made.backend_bit << 1;
  made.has_index = type != c10::DeviceType::CPU;
  made.index_mask = made.has_index ? 0 : -1;
  return made;
}

}  // namespace

void choose_target(TargetChoice choice) {
  const bool cuda = choice != TargetChoice::kCpu && cuda_usable();
  TORCH_CHECK(
      cuda || choice != TargetChoice::kCuda,
      "flagos: FLAGOS_TARGET=cuda, but this process has no usable CUDA device. Check `nvidia-smi` and that torch "
      "is a CUDA build loaded before libflagos, or set FLAGOS_TARGET=auto.");
  g_target = constants_for(cuda ? c10::DeviceType::CUDA : c10::DeviceType::CPU);
}

}  // namespace device

c10::DeviceType target_device_type() noexcept { return g_target.type; }
c10::DispatchKey target_dispatch_key() noexcept { return g_target.dense_key; }

c10::Device to_target_device(c10::Device device) noexcept {
  if (device.type() != c10::DeviceType::PrivateUse1) {
    return device;
  }
  return g_target.has_index ? c10::Device(g_target.type, device.index()) : c10::Device(g_target.type);
}

c10::Device to_flagos_device(c10::Device device) noexcept {
  if (device.type() != g_target.type) {
    return device;
  }
  return {c10::DeviceType::PrivateUse1, g_target.has_index ? device.index() : c10::DeviceIndex{0}};
}

}  // namespace flagos
