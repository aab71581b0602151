#include "device/hooks.h"

#include <ATen/Context.h>
#include <ATen/core/CachingHostAllocator.h>
#include <ATen/detail/CUDAHooksInterface.h>

#include "device/generator.h"
#include "device/guard.h"
#include "device/pinned_host.h"
#include "device/target_constants.h"
#include "flagos/target.h"

namespace flagos::device {
namespace {

using c10::Device;
using c10::DeviceIndex;

// With a CUDA device in the machine, PyTorch's own functions take pinned memory from CUDA whatever the accelerator is
// (GetCPUAllocatorMaybePinned in aten/src/ATen/EmptyTensor.cpp), on the CPU target too. CUDA is asked only when it has
// given some: the question makes a context on the device.
bool is_pinned_by_cuda(const void* data) {
  const auto& cuda = at::detail::getCUDAHooks();
  return cuda.hasCUDA() && at::getHostAllocator(c10::DeviceType::CUDA)->get_stats().allocations.current > 0 &&
         cuda.isPinnedPtr(data);
}

class Hooks final : public at::PrivateUse1HooksInterface {
 public:
  // Nothing: flagos counts as initialised once it is loaded (see load.cpp). What needs the target initialises that.
  void init() const override {}
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(DeviceIndex index) const override {
    return on_cpu() ? index <= 0 : theirs().hasPrimaryContext(index);
  }

  DeviceIndex deviceCount() const override { return guard()->deviceCount(); }
  void setCurrentDevice(DeviceIndex index) const override { guard()->setDevice(flagos(index)); }
  DeviceIndex getCurrentDevice() const override { return guard()->getDevice().index(); }
  DeviceIndex exchangeDevice(DeviceIndex index) const override {
    return guard()->exchangeDevice(flagos(index)).index();
  }
  DeviceIndex maybeExchangeDevice(DeviceIndex index) const override {
    return on_cpu() ? DeviceIndex{0} : theirs().maybeExchangeDevice(index);
  }

  const at::Generator& getDefaultGenerator(DeviceIndex index) const override { return default_generator(index); }
  at::Generator getNewGenerator(DeviceIndex index = -1) const override { return new_generator(index); }

  Device getDeviceFromPtr(void* data) const override {
    return on_cpu() ? flagos(0) : to_flagos_device(at::globalContext().getDeviceFromPtr(data, target().type));
  }
  bool isPinnedPtr(const void* data) const override {
    return on_cpu() ? is_pinned_host(data) || is_pinned_by_cuda(data)
                    : at::globalContext().isPinnedPtr(data, target().type);
  }
  at::Allocator* getPinnedMemoryAllocator() const override {
    return on_cpu() ? pinned_host_allocator() : at::globalContext().getPinnedMemoryAllocator(target().type);
  }
  // Storages carry the target's device, so PyTorch resizes them itself; this is for one that carries flagos.
  void resizePrivateUse1Bytes(const c10::Storage& storage, size_t bytes) const override {
    auto* allocator = c10::GetAllocator(target().type);
    c10::DataPtr resized = allocator->allocate(bytes);
    if (storage.data() != nullptr) {
      allocator->copy_data(resized.get(), storage.data(), std::min(bytes, storage.nbytes()));
    }
    storage.set_data_ptr_noswap(std::move(resized));
    storage.set_nbytes(bytes);
  }

 private:
  static bool on_cpu() { return !target().has_index; }
  static Device flagos(DeviceIndex index) { return {c10::DeviceType::PrivateUse1, index}; }
  static const at::AcceleratorHooksInterface& theirs() { return at::detail::getCUDAHooks(); }
};

}  // namespace

at::PrivateUse1HooksInterface* hooks() {
  static auto* instance = new Hooks();
  return instance;
}

}  // namespace flagos::device
