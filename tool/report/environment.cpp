#include "report/environment.h"

#include <ATen/Version.h>
#include <fmt/format.h>
#include <torch/version.h>

#include <fstream>
#include <thread>

#include "cuda/cuda_driver.h"
#include "flagos/target.h"

namespace flagos::diag {
namespace {

Row or_null(const std::string& text) { return text.empty() ? Row(nullptr) : Row(text); }

std::string first_value(const char* file, std::string_view name) {
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name)) {
      const size_t colon = line.find(':');
      return colon + 2 <= line.size() ? line.substr(colon + 2) : "";
    }
  }
  return "";
}

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#else
  return "gcc " __VERSION__;
#endif
}

const char* build_kind() {
#ifdef NDEBUG
  return "release";
#else
  return "debug";
#endif
}

}  // namespace

std::string cpu_governor() {
  std::ifstream file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  std::string text;
  std::getline(file, text);
  return text;
}

std::string built_torch_version() { return TORCH_VERSION; }

std::string running_torch_version() {
  const std::string config = at::show_config();
  const std::string name = "TORCH_VERSION=";
  const size_t start = config.find(name);
  if (start == std::string::npos) {
    return "";
  }
  const size_t end = config.find_first_of(", \n", start);
  return config.substr(start + name.size(), end - start - name.size());
}

std::string target_name() { return target_device_type() == c10::DeviceType::CUDA ? "cuda" : "cpu"; }

Row describe_environment(uint64_t seed) {
  const std::string cpu = first_value("/proc/cpuinfo", "model name");
  Row described = {{"torch", or_null(running_torch_version())},
                   {"library", version()},
                   {"compiler", compiler()},
                   {"build", build_kind()},
                   {"target", target_name()}};
  if (target_name() == "cuda") {
    const CudaDriver& driver = cuda_driver();
    described["devices"] = driver.devices;
    described["driver"] = or_null(driver.version);
    described["driver_cuda"] = fmt::format("{}.{}", driver.cuda_version / 1000, driver.cuda_version % 1000 / 10);
  } else {
    described["devices"] = Row::array({cpu.empty() ? "cpu" : cpu});
    described["driver"] = nullptr;
  }
  described["cpu"] = or_null(cpu);
  described["cpu_threads"] = std::thread::hardware_concurrency();
  described["governor"] = or_null(cpu_governor());
  described["seed"] = seed;
  return described;
}

}  // namespace flagos::diag
