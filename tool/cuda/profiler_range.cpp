#include "cuda/profiler_range.h"

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>

namespace flagos::diag {

ProfilerRange::ProfilerRange(const std::string& name) { nvtxRangePushA(name.c_str()); }
ProfilerRange::~ProfilerRange() { nvtxRangePop(); }

}  // namespace flagos::diag

#else

namespace flagos::diag {

ProfilerRange::ProfilerRange(const std::string& /*name*/) {}
ProfilerRange::~ProfilerRange() = default;

}  // namespace flagos::diag

#endif
