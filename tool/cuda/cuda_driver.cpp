#include "cuda/cuda_driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <fstream>
#include <sstream>

namespace flagos::diag {
namespace {

template <class Function>
Function symbol_or_null(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

// "NVRM version: NVIDIA UNIX x86_64 Kernel Module  570.86.15  ...": the first word that starts with a digit and has
// dots.
std::string module_version() {
  std::ifstream file("/proc/driver/nvidia/version");
  std::string line;
  std::getline(file, line);
  std::istringstream words(line);
  for (std::string word; words >> word;) {
    if (word.front() >= '0' && word.front() <= '9' && word.find('.') != std::string::npos) {
      return word;
    }
  }
  return "";
}

void list_devices(void* library, CudaDriver& driver) {
  const auto count_devices = symbol_or_null<int (*)(int*)>(library, "cuDeviceGetCount");
  const auto get_device = symbol_or_null<int (*)(int*, int)>(library, "cuDeviceGet");
  const auto get_name = symbol_or_null<int (*)(char*, int, int)>(library, "cuDeviceGetName");
  int count = 0;
  if (count_devices == nullptr || get_device == nullptr || get_name == nullptr || count_devices(&count) != 0) {
    return;
  }
  for (int i = 0; i < count; ++i) {
    std::array<char, 128> name{};
    int device = 0;
    if (get_device(&device, i) == 0 && get_name(name.data(), static_cast<int>(name.size()), device) == 0) {
      driver.devices.emplace_back(name.data());
    }
  }
}

CudaDriver ask() {
  CudaDriver driver;
  driver.version = module_version();
  void* library = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);  // stays loaded: the driver can't be unloaded
  if (library == nullptr) {
    driver.error = "libcuda.so.1 is not there";
    return driver;
  }
  const auto initialise = symbol_or_null<int (*)(unsigned)>(library, "cuInit");
  const int status = initialise != nullptr ? initialise(0) : -1;
  if (const auto version = symbol_or_null<int (*)(int*)>(library, "cuDriverGetVersion")) {
    version(&driver.cuda_version);
  }
  if (status != 0) {
    driver.error = fmt::format("cuInit failed with error {}", status);
    return driver;
  }
  driver.found = true;
  list_devices(library, driver);
  return driver;
}

}  // namespace

const CudaDriver& cuda_driver() {
  static const CudaDriver driver = ask();
  return driver;
}

}  // namespace flagos::diag
