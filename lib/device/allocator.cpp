#include "device/allocator.h"

#include <ATen/Context.h>

#include "device/target_constants.h"

namespace flagos::device {
namespace {

class TargetAllocator final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override { return theirs()->allocate(bytes); }
  c10::DeleterFnPtr raw_deleter() const override { return theirs()->raw_deleter(); }
  void copy_data(void* to, const void* from, size_t bytes) const override { theirs()->copy_data(to, from, bytes); }

 private:
  static c10::Allocator* theirs() {
    if (target().has_index) {
      at::globalContext().lazyInitDevice(target().type);
    }
    return c10::GetAllocator(target().type);
  }
};

}  // namespace

c10::Allocator* allocator() {
  static auto* instance = new TargetAllocator();
  return instance;
}

}  // namespace flagos::device
