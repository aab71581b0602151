#include "measure/conditions.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "flagos/target.h"
#include "report/environment.h"

namespace flagos::diag {
namespace {

constexpr double kBusy = 0.5;  // other processes keep this many processors busy, on average over a minute
constexpr unsigned kMostProcesses = 64;

// From nvml.h, whose functions are looked up by name: the library belongs to the driver.
constexpr int kSuccess = 0;
constexpr unsigned long long kHardwareSlowdown = 0x8;
constexpr unsigned long long kSoftwareThermal = 0x20;
constexpr unsigned long long kHardwareThermal = 0x40;
constexpr unsigned long long kPowerBrake = 0x80;
struct GpuProcess {
  unsigned pid;
  unsigned long long memory;
  unsigned instance;
  unsigned compute_instance;
};

class Nvml {
 public:
  Nvml() : library_(dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    const auto initialise = symbol<int (*)()>("nvmlInit_v2");
    const auto handle = symbol<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    if (initialise == nullptr || handle == nullptr || initialise() != kSuccess || handle(0, &device_) != kSuccess) {
      device_ = nullptr;
    }
  }

  size_t other_processes() const {
    const auto ask = symbol<int (*)(void*, unsigned*, GpuProcess*)>("nvmlDeviceGetComputeRunningProcesses_v3");
    std::array<GpuProcess, kMostProcesses> processes{};
    unsigned count = kMostProcesses;
    if (device_ == nullptr || ask == nullptr || ask(device_, &count, processes.data()) != kSuccess) {
      return 0;
    }
    size_t others = 0;
    for (unsigned i = 0; i < count; ++i) {
      others += processes.at(i).pid != static_cast<unsigned>(getpid()) ? 1 : 0;
    }
    return others;
  }

  bool throttled() const {
    const auto ask = symbol<int (*)(void*, unsigned long long*)>("nvmlDeviceGetCurrentClocksThrottleReasons");
    unsigned long long reasons = 0;
    return device_ != nullptr && ask != nullptr && ask(device_, &reasons) == kSuccess &&
           (reasons & (kHardwareSlowdown | kSoftwareThermal | kHardwareThermal | kPowerBrake)) != 0;
  }

 private:
  template <class Function>
  Function symbol(const char* name) const {
    return library_ == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(library_, name));
  }

  void* library_;  // stays loaded: the driver's own
  void* device_ = nullptr;
};

void add_of_cpu(std::vector<std::string>& warnings) {
  const std::string governor = cpu_governor();
  if (!governor.empty() && governor != "performance") {
    warnings.push_back(fmt::format(
        "the CPU's frequency governor is '{0}'; 'cpupower frequency-set -g performance' holds it still", governor));
  }
  double load = 0;
  if (getloadavg(&load, 1) == 1 && load > kBusy) {
    warnings.push_back(fmt::format("other processes load the {} processors: {:.1f} of them over the last minute",
                                   std::thread::hardware_concurrency(), load));
  }
#ifndef NDEBUG
  warnings.emplace_back("this is a debug build; configure with --buildtype=release");
#endif
}

void add_of_gpu(std::vector<std::string>& warnings) {
  const Nvml nvml;
  if (const size_t others = nvml.other_processes(); others != 0) {
    warnings.push_back(fmt::format("{} other process{} on the GPU; see nvidia-smi", others, others == 1 ? "" : "es"));
  }
  if (nvml.throttled()) {
    warnings.emplace_back("the GPU is throttled; see 'nvidia-smi -q -d PERFORMANCE'");
  }
}

}  // namespace

std::vector<std::string> doubtful_conditions() {
  std::vector<std::string> warnings;
  add_of_cpu(warnings);
  if (target_device_type() == c10::DeviceType::CUDA) {
    add_of_gpu(warnings);
  }
  return warnings;
}

}  // namespace flagos::diag
