#include "device/generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/GeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <mutex>
#include <vector>

#include "device/target_constants.h"
#include "flagos/target.h"

namespace flagos::device {
namespace {

// A GeneratorImpl that owns one of the target's and passes everything on. The target's mutex guards its state, as for
// every generator: callers lock the generator they draw from, and kernels draw from the target's.
class FlagosGenerator final : public c10::GeneratorImpl {
 public:
  FlagosGenerator(at::Generator wrapped, c10::DeviceIndex index)
      : c10::GeneratorImpl(c10::Device(c10::DeviceType::PrivateUse1, index),
                           c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)),
        wrapped_(std::move(wrapped)) {}

  const at::Generator& wrapped() const { return wrapped_; }

  void set_current_seed(uint64_t seed) override { wrapped_.set_current_seed(seed); }
  void set_offset(uint64_t offset) override { wrapped_.set_offset(offset); }
  uint64_t get_offset() const override { return wrapped_.get_offset(); }
  uint64_t current_seed() const override { return wrapped_.current_seed(); }
  uint64_t seed() override { return wrapped_.unsafeGetGeneratorImpl()->seed(); }
  void set_state(const c10::TensorImpl& state) override { wrapped_.unsafeGetGeneratorImpl()->set_state(state); }
  c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
    return wrapped_.unsafeGetGeneratorImpl()->get_state();
  }
  void graphsafe_set_state(const c10::intrusive_ptr<c10::GeneratorImpl>& state) override {
    auto* theirs = dynamic_cast<FlagosGenerator*>(state.get());
    wrapped_.unsafeGetGeneratorImpl()->graphsafe_set_state(theirs != nullptr ? theirs->wrapped_.getIntrusivePtr()
                                                                             : state);
  }
  c10::intrusive_ptr<c10::GeneratorImpl> graphsafe_get_state() const override {
    at::Generator state(wrapped_.unsafeGetGeneratorImpl()->graphsafe_get_state());
    return c10::make_intrusive<FlagosGenerator>(std::move(state), device().index());
  }

 private:
  FlagosGenerator* clone_impl() const override { return new FlagosGenerator(wrapped_.clone(), device().index()); }

  at::Generator wrapped_;
};

c10::DeviceIndex resolve(c10::DeviceIndex index) {
  if (!target().has_index) {
    TORCH_CHECK(index <= 0, "flagos: there is no device flagos:", static_cast<int>(index),
                "; the CPU target has flagos:0 only.");
    return 0;
  }
  const auto* guard = c10::impl::getDeviceGuardImpl(target().type);
  if (index < 0) {
    return guard->getDevice().index();
  }
  TORCH_CHECK(index < guard->deviceCount(), "flagos: there is no device flagos:", static_cast<int>(index),
              "; there are ", static_cast<int>(guard->deviceCount()), " (flagos:0 and up).");
  return index;
}

at::Generator target_default(c10::DeviceIndex index) {
  if (target().type == c10::DeviceType::CPU) {
    return at::detail::getDefaultCPUGenerator();
  }
  return at::globalContext().defaultGenerator(c10::Device(target().type, index));
}

at::Generator target_new(c10::DeviceIndex index) {
  if (target().type == c10::DeviceType::CPU) {
    return at::make_generator<at::CPUGeneratorImpl>();
  }
  return at::globalContext().getAcceleratorHooksInterface(target().type).getNewGenerator(index);
}

}  // namespace

at::Generator to_target_generator(const at::Generator& generator) {
  if (generator.device().type() != c10::DeviceType::PrivateUse1) {
    return generator;
  }
  auto* flagos = dynamic_cast<FlagosGenerator*>(generator.unsafeGetGeneratorImpl());
  TORCH_CHECK(flagos != nullptr, "flagos: a generator on ", generator.device(),
              " was not made by flagos. Make it with torch.Generator(device=\"flagos\").");
  return flagos->wrapped();
}

const at::Generator& default_generator(c10::DeviceIndex index) {
  static std::mutex mutex;
  static auto* generators = new std::vector<at::Generator>(128) /* every DeviceIndex */;
  const c10::DeviceIndex resolved = resolve(index);
  const std::lock_guard lock(mutex);
  at::Generator& generator = generators->at(static_cast<size_t>(resolved));
  if (!generator.defined()) {
    generator = at::make_generator<FlagosGenerator>(target_default(resolved), resolved);
  }
  return generator;
}

at::Generator new_generator(c10::DeviceIndex index) {
  const c10::DeviceIndex resolved = resolve(index);
  return at::make_generator<FlagosGenerator>(target_new(resolved), resolved);
}

}  // namespace flagos::device
