// The target backend: the one whose kernels run for flagos tensors.
#pragma once

#include <c10/core/Device.h>
#include <c10/core/DispatchKey.h>

#include <string>

#include "flagos/export.h"

namespace flagos {

// Version of this library, "MAJOR.MINOR.PATCH". The string is static; any thread.
FLAGOS_API const char* version() noexcept;

// Anchors the library: a program that links libflagos and only uses tensors on device "flagos" calls init()
// once, so that a linker run with --as-needed keeps the dependency. Registration itself happens when the library
// is loaded; init() adds nothing to it and may be called any number of times from any thread.
// Returns true when the device is registered, false when FLAGOS_DISABLE kept the library inert.
FLAGOS_API bool init();

// Device type of the target, c10::DeviceType::CPU or CUDA. Chosen once, when the library is loaded, from
// FLAGOS_TARGET=auto|cpu|cuda; `auto` is CUDA when the process has a usable CUDA device and CPU otherwise.
// Any thread.
FLAGOS_API c10::DeviceType target_device_type() noexcept;

// The target's Dense dispatch key (c10::DispatchKey::CPU or CUDA). Any thread.
FLAGOS_API c10::DispatchKey target_dispatch_key() noexcept;

// flagos:N -> the target's device (the CPU has no index); a device of another type is returned as it is.
FLAGOS_API c10::Device to_target_device(c10::Device device) noexcept;

// The target's device -> flagos:N (the CPU is flagos:0); a device of another type is returned as it is.
FLAGOS_API c10::Device to_flagos_device(c10::Device device) noexcept;

}  // namespace flagos
