#include "device/pinned_host.h"

#include <c10/core/CPUAllocator.h>

#include <mutex>
#include <unordered_set>

namespace flagos::device {
namespace {

struct Blocks {
  std::mutex mutex;
  std::unordered_set<const void*> begins;
};

// Never destroyed: blocks may outlive static destructors.
Blocks& blocks() {
  static auto* instance = new Blocks();
  return *instance;
}

void release(void* data) {
  {
    auto& known = blocks();
    const std::lock_guard lock(known.mutex);
    known.begins.erase(data);
  }
  c10::GetCPUAllocator()->raw_deallocate(data);
}

class PinnedHostAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const data = c10::GetCPUAllocator()->raw_allocate(bytes);
    if (data != nullptr) {
      auto& known = blocks();
      const std::lock_guard lock(known.mutex);
      known.begins.insert(data);
    }
    return {data, data, &release, c10::DeviceType::CPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

c10::Allocator* pinned_host_allocator() {
  static auto* instance = new PinnedHostAllocator();
  return instance;
}

bool is_pinned_host(const void* data) {
  auto& known = blocks();
  const std::lock_guard lock(known.mutex);
  return known.begins.contains(data);
}

}  // namespace flagos::device
