// The allocator for DeviceType::PrivateUse1: the target's.
#pragma once

#include <c10/core/Allocator.h>

namespace flagos::device {

// Passes every request to the target's allocator as it is at that moment, so that caching, memory pools and statistics
// are the target's. What it returns carries the target's device. Lives for the whole process. Any thread.
c10::Allocator* allocator();

}  // namespace flagos::device
