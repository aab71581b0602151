// An allocator whose n-th allocation fails.
#pragma once

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>

#include <cstdint>
#include <cstring>

namespace flagos::testing {

// The CPU's own allocator, which fails when told to and counts what is out. Its memory is zero, so that what is
// compared bit by bit has a value.
class FailingAllocator final : public c10::Allocator {
 public:
  explicit FailingAllocator(c10::Allocator* real) : real_(real) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) {
      return real_->allocate(0);
    }
    if (fail_at > 0 && --fail_at == 0) {
      TORCH_CHECK_WITH(OutOfMemoryError, false, "injected: you tried to allocate ", bytes, " bytes");
    }
    void* const data = real_->raw_allocate(bytes);
    std::memset(data, 0, bytes);
    ++s_live;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

  // Counts down; the allocation that makes it 0 fails.
  int fail_at = 0;
  static int64_t live() { return s_live; }

 private:
  static void release(void* data) {
    --s_live;
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
  }
  inline static int64_t s_live = 0;
  c10::Allocator* real_;
};

// Allocates for the CPU from the first call on.
inline FailingAllocator& failing() {
  static auto* allocator = [] {
    auto* made = new FailingAllocator(c10::GetDefaultCPUAllocator());
    c10::SetCPUAllocator(made, /*priority=*/100);
    return made;
  }();
  return *allocator;
}

}  // namespace flagos::testing
