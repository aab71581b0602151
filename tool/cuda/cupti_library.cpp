#include "cuda/cupti_library.h"

#include <c10/core/Device.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>

#include "cuda/cuda_driver.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSonames[] = {"libcupti.so.13", "libcupti.so.12"};

// The directory of the libtorch that runs, of which libc10 is a part.
fs::path torch_library_directory() {
  using IsHip = std::string (c10::Device::*)() const;
  const IsHip some_function = &c10::Device::str;
  void* address = nullptr;
  static_assert(sizeof(some_function) >= sizeof(address));
  __builtin_memcpy(&address, &some_function, sizeof(address));
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? fs::path(info.dli_fname).parent_path() : fs::path();
}

// Without it CUPTI is not asked: that of CUDA 13.2 then calls itself until the stack is full.
void require_driver() {
  if (!cuda_driver().found) {
    throw CuptiError(fmt::format("there is no CUDA driver, whose kernels CUPTI would record ({}). Install it.",
                                 cuda_driver().error));
  }
}

}  // namespace

std::vector<std::string> cupti_candidates() {
  require_driver();
  std::vector<std::string> candidates(std::begin(kSonames), std::end(kSonames));
  std::error_code error;
  const fs::path packages = fs::weakly_canonical(torch_library_directory() / "../..", error);
  for (const fs::path& directory :
       {packages / "nvidia/cu13/lib", packages / "nvidia/cuda_cupti/lib", fs::path("/usr/local/cuda/lib64"),
        fs::path("/usr/local/cuda/extras/CUPTI/lib64")}) {
    for (const char* soname : kSonames) {
      if (fs::exists(directory / soname, error)) {
        candidates.push_back((directory / soname).string());
      }
    }
  }
  return candidates;
}

#if FLAGOS_DIAG_HAS_CUPTI

namespace {

constexpr uint32_t kOldestVersion = 18;  // CUDA 12.0: the records' fields are where this file's header has them

template <class Function>
void find(void* library, const char* name, const std::string& path, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw CuptiError(fmt::format("{} has no {}; it is not the CUPTI of CUDA 12 or newer.", path, name));
  }
}

// The one in use comes first: two copies of CUPTI in a process know nothing of each other.
void* open_library(const std::vector<std::string>& candidates, std::string& path, std::string& errors) {
  for (const int flags : {RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const std::string& candidate : candidates) {
      if (void* library = dlopen(candidate.c_str(), flags)) {
        path = candidate;
        return library;
      }
      if ((flags & RTLD_NOLOAD) == 0) {
        const char* error = dlerror();
        errors += fmt::format(" {}", error != nullptr ? error : candidate);
      }
    }
  }
  return nullptr;
}

}  // namespace

CuptiLibrary load_cupti(const std::vector<std::string>& candidates) {
  CuptiLibrary cupti;
  std::string errors;
  void* library = open_library(candidates, cupti.path, errors);
  if (library == nullptr) {
    throw CuptiError(
        fmt::format("libcupti can't be loaded ({} ). Install it beside torch (pip install nvidia-cuda-cupti), or "
                    "install the CUDA Toolkit, or name its directory in LD_LIBRARY_PATH.",
                    errors));
  }
  find(library, "cuptiSubscribe", cupti.path, cupti.subscribe);
  find(library, "cuptiUnsubscribe", cupti.path, cupti.unsubscribe);
  find(library, "cuptiActivityRegisterCallbacks", cupti.path, cupti.register_callbacks);
  find(library, "cuptiActivityEnable", cupti.path, cupti.enable);
  find(library, "cuptiActivityDisable", cupti.path, cupti.disable);
  find(library, "cuptiActivityFlushAll", cupti.path, cupti.flush_all);
  find(library, "cuptiActivityGetNextRecord", cupti.path, cupti.next_record);
  find(library, "cuptiActivityGetNumDroppedRecords", cupti.path, cupti.count_dropped);
  find(library, "cuptiGetVersion", cupti.path, cupti.version);
  find(library, "cuptiGetResultString", cupti.path, cupti.result_string);
  uint32_t version = 0;
  check_cupti(cupti, cupti.version(&version), "cuptiGetVersion");
  if (version < kOldestVersion) {
    throw CuptiError(
        fmt::format("{} has API version {}; {} (CUDA 12.0) or newer is needed. Install that of torch's CUDA.",
                    cupti.path, version, kOldestVersion));
  }
  return cupti;
}

void check_cupti(const CuptiLibrary& cupti, CUptiResult result, const char* call) {
  if (result == CUPTI_SUCCESS) {
    return;
  }
  if (result == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    throw CuptiError(
        fmt::format("another CUPTI client holds this process ({} failed): a profiler such as Nsight Systems or Nsight "
                    "Compute, cuda-gdb, or what CUDA_INJECTION64_PATH names. Run without it.",
                    call));
  }
  const char* text = nullptr;
  cupti.result_string(result, &text);
  const bool forbidden =
      result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES || result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
  throw CuptiError(fmt::format("{} of {} failed: {} ({}). {}", call, cupti.path, text != nullptr ? text : "unknown",
                               static_cast<int>(result),
                               forbidden ? "The driver lets only administrators profile; run as root, or load the "
                                           "kernel module with NVreg_RestrictProfilingToAdminUsers=0."
                                         : "Check the driver with flagos-diag doctor."));
}

#endif

}  // namespace flagos::diag
