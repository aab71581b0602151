// The device guard's interface where releases of PyTorch differ: 2.10 has no native handles of streams.
#pragma once

#include <c10/core/Stream.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/util/Exception.h>

#include <type_traits>

namespace flagos::device {

template <class Interface>
concept HasNativeHandles = requires(const Interface& guard, c10::Stream stream) {
  guard.getStreamNativeHandle(stream);
};

// What 2.10 lacks; nothing in that torch calls it.
template <class Interface>
class WithNativeHandles : public Interface {
 public:
  virtual void* getStreamNativeHandle(const c10::Stream stream) const = 0;
};

using GuardInterface =
    std::conditional_t<HasNativeHandles<c10::impl::DeviceGuardImplInterface>, c10::impl::DeviceGuardImplInterface,
                       WithNativeHandles<c10::impl::DeviceGuardImplInterface>>;

// The target's handle of its stream; the target's error when it has none.
template <class Interface>
void* native_handle(const Interface& guard, const c10::Stream stream) {
  if constexpr (HasNativeHandles<Interface>) {
    return guard.getStreamNativeHandle(stream);
  } else {
    TORCH_CHECK(false, "flagos: this release of PyTorch has no native handles of streams; 2.11 does.");
  }
}

}  // namespace flagos::device
