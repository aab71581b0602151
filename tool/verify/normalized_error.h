// What two devices' messages of the same error have in common.
#pragma once

#include <c10/core/DeviceType.h>

#include <string>
#include <string_view>

namespace flagos::diag {

// `text` without what depends on the device only, so that native's message can be compared with flagos's: names of
// devices and dispatch keys of `target` and of flagos become "DEVICE" ("SparseCUDA" becomes "SparseDEVICE"), the
// dispatcher's lists of backends "[BACKENDS]", and its way and libflagos's of saying that no kernel is there become
// one. Another device's name, such as the CPU's where the target is CUDA, stays: it is a difference.
std::string normalized_error(std::string_view text, c10::DeviceType target);

}  // namespace flagos::diag
