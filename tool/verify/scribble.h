// Memory used otherwise between two runs, so that what is read uninitialised shows itself.
#pragma once

#include <c10/core/Device.h>

#include <cstdint>

#include "verify/comparison.h"

namespace flagos::diag {

// In bytes. Larger blocks come from the system, or are cached per size.
inline constexpr int64_t kGreatestScribble = 1 << 20;

// Fills memory of `device` with the byte `pattern` and frees it: `blocks_each` blocks of each of the sizes that the
// call of `outcome` used, and of others up to `greatest` bytes. Throws what the allocation throws.
void scribble(c10::Device device, const CallOutcome& outcome, int pattern, int blocks_each,
              int64_t greatest = kGreatestScribble);

}  // namespace flagos::diag
