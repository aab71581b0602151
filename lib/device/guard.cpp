#include "device/guard.h"

#include "device/guard_interface.h"
#include "device/host_event.h"
#include "device/target_constants.h"
#include "flagos/target.h"

namespace flagos::device {
namespace {

using c10::Device;
using c10::DeviceIndex;
using c10::Stream;

class GuardImpl final : public GuardInterface {
 public:
  c10::DeviceType type() const override { return c10::DeviceType::PrivateUse1; }
  Device exchangeDevice(Device d) const override { return to_flagos_device(theirs().exchangeDevice(inner(d))); }
  Device getDevice() const override { return to_flagos_device(theirs().getDevice()); }
  void setDevice(Device d) const override { theirs().setDevice(inner(d)); }
  void uncheckedSetDevice(Device d) const noexcept override { theirs().uncheckedSetDevice(to_target_device(d)); }
  DeviceIndex deviceCount() const noexcept override { return theirs().deviceCount(); }
  c10::DeviceCapability getDeviceCapability(Device d) const override { return theirs().getDeviceCapability(inner(d)); }

  Stream getStream(Device d) const override { return outer(theirs().getStream(inner(d)), d); }
  Stream getDefaultStream(Device d) const override {
    return has_streams() ? outer(theirs().getDefaultStream(inner(d)), d) : Stream(Stream::DEFAULT, resolved(d));
  }
  Stream getNewStream(Device d, int priority = 0) const override {
    return has_streams() ? outer(theirs().getNewStream(inner(d), priority), d) : Stream(Stream::DEFAULT, resolved(d));
  }
  Stream getStreamFromGlobalPool(Device d, bool high_priority = false) const override {
    return has_streams() ? outer(theirs().getStreamFromGlobalPool(inner(d), high_priority), d)
                         : Stream(Stream::DEFAULT, resolved(d));
  }
  Stream exchangeStream(Stream s) const override { return outer(theirs().exchangeStream(inner(s)), s.device()); }
  bool queryStream(const Stream& s) const override { return !has_streams() || theirs().queryStream(inner(s)); }
  void synchronizeStream(const Stream& s) const override {
    if (has_streams()) {
      theirs().synchronizeStream(inner(s));
    }
  }
  void synchronizeDevice(const DeviceIndex index) const override {
    if (has_streams()) {
      theirs().synchronizeDevice(index);
    }
  }
  void recordDataPtrOnStream(const c10::DataPtr& data, const Stream& s) const override {
    if (has_streams()) {
      theirs().recordDataPtrOnStream(data, inner(s));
    }
  }
  void* getStreamNativeHandle(const Stream s) const override { return native_handle(theirs(), inner(s)); }

  void record(void** event, const Stream& s, const DeviceIndex index, const c10::EventFlag flag) const override {
    if (has_streams()) {
      theirs().record(event, inner(s), index, flag);
    } else {
      record_host_event(event);
    }
  }
  void block(void* event, const Stream& s) const override {
    if (has_streams()) {
      theirs().block(event, inner(s));
    }
  }
  bool queryEvent(void* event) const override { return !has_streams() || theirs().queryEvent(event); }
  void synchronizeEvent(void* event) const override {
    if (has_streams()) {
      theirs().synchronizeEvent(event);
    }
  }
  void destroyEvent(void* event, const DeviceIndex index) const noexcept override {
    if (has_streams()) {
      theirs().destroyEvent(event, index);
    } else {
      release_host_event(event);
    }
  }
  double elapsedTime(void* first, void* second, const DeviceIndex index) const override {
    return has_streams() ? theirs().elapsedTime(first, second, index) : host_event_milliseconds(first, second);
  }

 private:
  static const c10::impl::DeviceGuardImplInterface& theirs() { return *c10::impl::getDeviceGuardImpl(target().type); }
  static bool has_streams() { return target().has_index; }

  // A device without an index means the current one.
  static Device resolved(Device d) {
    return {c10::DeviceType::PrivateUse1, d.has_index() ? d.index() : DeviceIndex{0}};
  }
  static Device inner(Device d) {
    TORCH_CHECK(d.type() == c10::DeviceType::PrivateUse1, "flagos: expected a flagos device, got ", d, ".");
    TORCH_CHECK(target().has_index || d.index() <= 0, "flagos: there is no device ", d,
                "; the CPU target has flagos:0 only.");
    return to_target_device(d);
  }
  static Stream inner(const Stream& s) { return Stream(Stream::UNSAFE, inner(s.device()), s.id()); }
  static Stream outer(const Stream& s, Device d) {
    const Device device = has_streams() ? to_flagos_device(s.device()) : resolved(d);
    return Stream(Stream::UNSAFE, device, s.id());
  }
};

}  // namespace

const c10::impl::DeviceGuardImplInterface* guard() {
  static const auto* instance = new GuardImpl();
  return instance;
}

}  // namespace flagos::device
