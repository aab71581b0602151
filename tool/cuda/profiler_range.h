// ProfilerRange: a named range in the timeline of NVIDIA's profilers, where they are looking on.
#pragma once

#include <string>

namespace flagos::diag {

// From construction to destruction, on the calling thread. Costs a few nanoseconds when no profiler is attached, and
// does nothing in a build without the CUDA Toolkit's NVTX headers.
class ProfilerRange {
 public:
  explicit ProfilerRange(const std::string& name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange&) = delete;
  ProfilerRange& operator=(const ProfilerRange&) = delete;
  ProfilerRange(ProfilerRange&&) = delete;
  ProfilerRange& operator=(ProfilerRange&&) = delete;
};

}  // namespace flagos::diag
