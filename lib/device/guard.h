// The device guard of flagos: the target's, with the device type swapped.
#pragma once

#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace flagos::device {

// The guard for DeviceType::PrivateUse1. Streams and events are the target's own (same ids), so that "current" means
// the same on both sides. For the CPU target, which has neither, streams are the default one and events are complete at
// once. Lives for the whole process. Any thread.
const c10::impl::DeviceGuardImplInterface* guard();

}  // namespace flagos::device
