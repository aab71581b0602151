#include "device/allocator.h"

#include <ATen/Context.h>
#include <c10/core/CachingDeviceAllocator.h>

#include "device/target_constants.h"
#include "flagos/target.h"

namespace flagos::device {
namespace {

// Allocates from the target, and answers torch.accelerator's questions about memory as it does. The CPU keeps no
// account of what is allocated: its figures are zero.
class TargetAllocator final : public c10::DeviceAllocator {
 public:
  c10::DataPtr allocate(size_t bytes) override { return theirs()->allocate(bytes); }
  c10::DeleterFnPtr raw_deleter() const override { return theirs()->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override { theirs()->copy_data(to, from, bytes); }

  bool initialized() override { return device_allocator() == nullptr || device_allocator()->initialized(); }
  void emptyCache(c10::MempoolId_t pool) override {
    if (auto* target_allocator = device_allocator()) {
      target_allocator->emptyCache(pool);
    }
  }
  void recordStream(const c10::DataPtr& data, c10::Stream stream) override {
    if (auto* target_allocator = device_allocator()) {
      target_allocator->recordStream(data,
                                     c10::Stream(c10::Stream::UNSAFE, to_target_device(stream.device()), stream.id()));
    }
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
    auto* target_allocator = device_allocator();
    return target_allocator != nullptr ? target_allocator->getDeviceStats(device)
                                       : c10::CachingDeviceAllocator::DeviceStats();
  }
  void resetAccumulatedStats(c10::DeviceIndex device) override {
    if (auto* target_allocator = device_allocator()) {
      target_allocator->resetAccumulatedStats(device);
    }
  }
  void resetPeakStats(c10::DeviceIndex device) override {
    if (auto* target_allocator = device_allocator()) {
      target_allocator->resetPeakStats(device);
    }
  }

 private:
  static c10::Allocator* theirs() {
    if (target().has_index) {
      at::globalContext().lazyInitDevice(target().type);
    }
    return c10::GetAllocator(target().type);
  }
  // Null on the CPU.
  static c10::DeviceAllocator* device_allocator() { return dynamic_cast<c10::DeviceAllocator*>(theirs()); }
};

}  // namespace

c10::Allocator* allocator() {
  static auto* instance = new TargetAllocator();
  return instance;
}

}  // namespace flagos::device
