// CUPTI, NVIDIA's profiling library: loaded when it is asked for, so that the tool neither links nor needs it.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

// cupti.h comes with the CUDA Toolkit and with torch's CUDA wheels; meson.build looks for it.
#if __has_include(<cupti.h>)
#include <cupti.h>
#define FLAGOS_DIAG_HAS_CUPTI 1
#else
#define FLAGOS_DIAG_HAS_CUPTI 0
#endif

namespace flagos::diag {

// CUPTI can't be used here. The text says why and what to do.
class CuptiError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where libcupti may be, the most fitting first: the one that this process has loaded (torch's CUDA builds link it),
// the dynamic linker's, those of NVIDIA's wheels beside torch, the CUDA Toolkit's. Throws CuptiError where there is no
// CUDA driver.
std::vector<std::string> cupti_candidates();

#if FLAGOS_DIAG_HAS_CUPTI

// The functions that are used, of one loaded library. It is never unloaded: CUPTI may hold threads of its own.
struct CuptiLibrary {
  std::string path;
  decltype(&cuptiSubscribe) subscribe = nullptr;
  decltype(&cuptiUnsubscribe) unsubscribe = nullptr;
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) count_dropped = nullptr;
  decltype(&cuptiGetVersion) version = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
};

// The first of `candidates` that can be loaded. Throws CuptiError when none can, or when it is too old.
CuptiLibrary load_cupti(const std::vector<std::string>& candidates);

// Throws CuptiError for any other `result` than success; `call` names the function.
void check_cupti(const CuptiLibrary& cupti, CUptiResult result, const char* call);

#endif

}  // namespace flagos::diag
