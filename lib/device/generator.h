// flagos generators: each wraps one of the target's, so that seeding either seeds both.
#pragma once

#include <ATen/core/Generator.h>

namespace flagos::device {

// The target's generator inside a flagos generator; any other generator as it is. Any thread.
at::Generator to_target_generator(const at::Generator& generator);

// The default generator of flagos:index (-1: the current device); wraps the target's default. Any thread.
const at::Generator& default_generator(c10::DeviceIndex index);

// A new generator on flagos:index (-1: the current device) over a new one of the target. Any thread.
at::Generator new_generator(c10::DeviceIndex index);

}  // namespace flagos::device
