// A device that a call broke: a failed device-side assertion, an illegal access.
#pragma once

#include <optional>
#include <stdexcept>
#include <string>

namespace flagos::diag {

// A kernel of an arm of verify failed so that the device is lost to the process: every later call fails with what().
class DeviceFailure : public std::runtime_error {
 public:
  // `arm` is a name that outlives it.
  DeviceFailure(const char* arm, const std::string& error) : std::runtime_error(error), arm_(arm) {}
  const char* arm() const noexcept { return arm_; }

 private:
  const char* arm_;
};

// Waits for the target device's work to end. The error of the device, if it has failed; nothing on the CPU target.
// CUDA reports such an error with some later call, so that without waiting it would seem to be that call's.
std::optional<std::string> device_failure();

}  // namespace flagos::diag
