// What about this machine, now, makes times doubtful.
#pragma once

#include <string>
#include <vector>

namespace flagos::diag {

// Warnings with what to do about each: the CPU's frequency governor, its load, other processes on the GPU, a GPU that
// is throttled, a debug build. Empty when nothing was found. Asks NVIDIA's management library where there is one.
std::vector<std::string> doubtful_conditions();

}  // namespace flagos::diag
