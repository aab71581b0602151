#include "commands/health_checks.h"

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/ones.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <set>

#include "cuda/cuda_driver.h"
#include "edit_distance.h"
#include "flagos/flagos.h"
#include "report/environment.h"
#include "report/error_text.h"
#include "report/foreign_text.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> objects_named(const std::vector<std::string>& loaded, std::string_view name) {
  std::vector<std::string> found;
  std::copy_if(loaded.begin(), loaded.end(), std::back_inserter(found),
               [&](const std::string& path) { return fs::path(path).filename().string().starts_with(name); });
  return found;
}

// The error of loading the library, without the exception; empty: none.
std::string load_error() {
  try {
    return flagos::init() ? "" : "FLAGOS_DISABLE is set";
  } catch (const std::exception& error) {
    return error_text(error);
  }
}

constexpr std::array kKnownVariables = {"FLAGOS_BACKEND_CONFIG", "FLAGOS_DISABLE",      "FLAGOS_FALLBACK",
                                        "FLAGOS_LIBRARY",        "FLAGOS_LOG_DISPATCH", "FLAGOS_LOG_FALLBACK",
                                        "FLAGOS_NO_REDISPATCH",  "FLAGOS_TARGET"};

// What the wheel's console script tells the tool; see tool/packaged/main.cpp.
constexpr std::array kLauncherVariables = {"FLAGOS_DIAG_PYTHON", "FLAGOS_DIAG_TORCH"};

constexpr size_t kShownOfVariable = 300;  // bytes

std::string nearest_variable(std::string_view name) {
  return *std::min_element(kKnownVariables.begin(), kKnownVariables.end(), [&](const char* a, const char* b) {
    return edit_distance(name, a) < edit_distance(name, b);
  });
}

}  // namespace

std::vector<std::string> loaded_objects() {
  std::set<std::string> objects;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const size_t path = line.find('/');
    if (path != std::string::npos && line.find(".so", path) != std::string::npos) {
      objects.insert(line.substr(path));
    }
  }
  return {objects.begin(), objects.end()};
}

Finding check_torch_version() {
  const std::string built = built_torch_version();
  const std::string running = running_torch_version();
  Finding finding{"torch version", Health::kOk, fmt::format("built for {}, running {}", built, running), ""};
  if (running.empty()) {
    finding.health = Health::kWarn;
    finding.remedy = "The running torch does not tell its version; check that it is the one of the build.";
  } else if (built != running) {
    finding.health = Health::kFail;
    finding.remedy = fmt::format("Build libflagos again for torch {}, or install torch {}.", running, built);
  }
  return finding;
}

Finding check_abi() {
  // A symbol with std::string in its signature carries the ABI tag in its name.
  const bool cxx11 = dlsym(RTLD_DEFAULT, "_ZN2at11show_configB5cxx11Ev") != nullptr;
  const bool want_cxx11 = _GLIBCXX_USE_CXX11_ABI != 0;
  Finding finding{"C++ ABI", Health::kOk,
                  fmt::format("built with CXX11_ABI={}, torch has {}", int{want_cxx11}, int{cxx11}), ""};
  if (cxx11 != want_cxx11) {
    finding.health = Health::kFail;
    finding.remedy = fmt::format("Build with -D_GLIBCXX_USE_CXX11_ABI={}.", int{cxx11});
  }
  return finding;
}

Finding check_library() {
  const std::string error = load_error();
  if (error.empty()) {
    return {"libflagos", Health::kOk, fmt::format("{} is loaded and the device is registered", version()), ""};
  }
  return {"libflagos", Health::kFail, error, "Put right what the text names, then run doctor again."};
}

Finding check_target() {
  if (!load_error().empty()) {
    return {"target", Health::kFail, "not tried: libflagos is not loaded", "See libflagos."};
  }
  try {
    const at::Tensor ones = at::ones({8}, c10::Device(c10::DeviceType::PrivateUse1, 0));
    const double sum = ones.add(ones).sum().item<double>();
    if (sum == 16.0) {
      return {"target", Health::kOk, fmt::format("{} computes", target_name()), ""};
    }
    return {"target", Health::kFail, fmt::format("{} computes 8 * (1 + 1) = {}", target_name(), sum),
            "Check the device and its driver."};
  } catch (const std::exception& error) {
    return {"target", Health::kFail, error_text(error),
            "Run with FLAGOS_TARGET=cpu to tell the device from the library."};
  }
}

Finding check_duplicate_cudart(const std::vector<std::string>& loaded) {
  const auto found = objects_named(loaded, "libcudart");
  if (found.size() > 1) {
    return {"libcudart", Health::kFail, fmt::format("loaded {} times: {}", found.size(), fmt::join(found, ", ")),
            "Two CUDA runtimes have two sets of streams. Take the other one's directory out of LD_LIBRARY_PATH."};
  }
  return {"libcudart", Health::kOk, found.empty() ? "not loaded" : fmt::format("loaded once: {}", found.front()), ""};
}

Finding check_rpath(const std::vector<std::string>& loaded) {
  std::set<std::string> directories;
  for (const char* name : {"libc10.so", "libtorch_cpu.so", "libtorch_cuda.so", "libc10_cuda.so"}) {
    for (const auto& path : objects_named(loaded, name)) {
      directories.insert(fs::path(path).parent_path().string());
    }
  }
  if (directories.size() == 1) {
    return {"rpath", Health::kOk, fmt::format("torch comes from {}", *directories.begin()), ""};
  }
  return {"rpath", Health::kFail, fmt::format("torch comes from {}", fmt::join(directories, " and ")),
          "Take the other torch out of LD_LIBRARY_PATH, or set the rpath of the program to one of them."};
}

Finding check_driver() {
  const CudaDriver& driver = cuda_driver();
  const bool wants_cuda = target_device_type() == c10::DeviceType::CUDA;
  const std::string cuda = fmt::format("CUDA {}.{}", driver.cuda_version / 1000, driver.cuda_version % 1000 / 10);
  if (!driver.found) {
    return {"driver", wants_cuda ? Health::kFail : Health::kOk, driver.error,
            wants_cuda ? "Install the NVIDIA driver." : ""};
  }
  if (!wants_cuda) {
    return {"driver", Health::kWarn,
            fmt::format("{} ({}), {} devices, but the target is the CPU", driver.version, cuda, driver.devices.size()),
            driver.devices.empty()
                ? "No device is visible; see CUDA_VISIBLE_DEVICES."
                : "Without FLAGOS_TARGET=cpu this means that torch can't use CUDA: is it a CPU build, "
                  "or is the driver older than its CUDA?"};
  }
  return {"driver", Health::kOk, fmt::format("{} ({}), {} devices", driver.version, cuda, driver.devices.size()), ""};
}

Finding check_nvidia_libraries(const std::vector<std::string>& loaded) {
  if (objects_named(loaded, "libtorch_cuda.so").empty()) {
    return {"NVIDIA libraries", Health::kOk, "not needed: libtorch_cuda is not loaded", ""};
  }
  std::vector<std::string> missing;
  // Those that it links; it opens others (libcusolver, libnvrtc) when they are first needed.
  for (const char* name :
       {"libcublas.so", "libcudart.so", "libcudnn.so", "libcufft.so", "libcurand.so", "libcusparse.so"}) {
    if (objects_named(loaded, name).empty()) {
      missing.emplace_back(name);
    }
  }
  if (missing.empty()) {
    return {"NVIDIA libraries", Health::kOk, "those that libtorch_cuda needs are loaded", ""};
  }
  return {"NVIDIA libraries", Health::kWarn, fmt::format("not loaded: {}", fmt::join(missing, ", ")),
          "Install torch's NVIDIA wheels: pip install --force-reinstall torch."};
}

Finding check_environment_variables(const std::vector<std::string>& environment) {
  Finding finding{"environment variables", Health::kOk, "", ""};
  for (const auto& assignment : environment) {
    const std::string name = assignment.substr(0, assignment.find('='));
    const bool launchers =
        std::find(kLauncherVariables.begin(), kLauncherVariables.end(), name) != kLauncherVariables.end();
    if (!name.starts_with("FLAGOS_") || launchers) {
      continue;
    }
    finding.found += (finding.found.empty() ? "" : ", ") + foreign_text(assignment, kShownOfVariable);
    const bool known = std::find(kKnownVariables.begin(), kKnownVariables.end(), name) != kKnownVariables.end();
    if (!known && !name.starts_with("FLAGOS_OP_")) {
      finding.health = Health::kWarn;
      finding.remedy += fmt::format("{} is not known; nearest: {}. ", foreign_text(name), nearest_variable(name));
    }
  }
  if (finding.found.empty()) {
    finding.found = "no FLAGOS_* variable is set";
  }
  return finding;
}

}  // namespace flagos::diag
