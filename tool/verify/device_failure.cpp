#include "verify/device_failure.h"

#include <c10/core/impl/VirtualGuardImpl.h>

#include "report/error_text.h"

namespace flagos::diag {

std::optional<std::string> device_failure() {
  try {
    const c10::impl::VirtualGuardImpl device(c10::DeviceType::PrivateUse1);
    device.synchronizeDevice(device.getDevice().index());
    return std::nullopt;
  } catch (const std::exception& error) {
    return error_text(error);
  }
}

}  // namespace flagos::diag
