#include "cuda/device_comparison.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include "flagos/target.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLibrary = "libflagos-device-compare.so";

template <class Function>
Function symbol(void* library, const char* name) {
  auto* found = reinterpret_cast<Function>(dlsym(library, name));
  if (found == nullptr) {
    throw std::runtime_error(fmt::format("{} has no {}", kLibrary, name));
  }
  return found;
}

std::optional<int> dtype_of(c10::ScalarType type) {
  static constexpr std::pair<c10::ScalarType, flagos_compare_dtype> kDtypes[] = {
      {at::kByte, FLAGOS_COMPARE_UINT8},
      {at::kChar, FLAGOS_COMPARE_INT8},
      {at::kShort, FLAGOS_COMPARE_INT16},
      {at::kInt, FLAGOS_COMPARE_INT32},
      {at::kLong, FLAGOS_COMPARE_INT64},
      {at::kUInt16, FLAGOS_COMPARE_UINT16},
      {at::kUInt32, FLAGOS_COMPARE_UINT32},
      {at::kUInt64, FLAGOS_COMPARE_UINT64},
      {at::kBool, FLAGOS_COMPARE_BOOL},
      {at::kHalf, FLAGOS_COMPARE_FLOAT16},
      {at::kBFloat16, FLAGOS_COMPARE_BFLOAT16},
      {at::kFloat, FLAGOS_COMPARE_FLOAT32},
      {at::kDouble, FLAGOS_COMPARE_FLOAT64},
      {at::kComplexHalf, FLAGOS_COMPARE_COMPLEX32},
      {at::kComplexFloat, FLAGOS_COMPARE_COMPLEX64},
      {at::kComplexDouble, FLAGOS_COMPARE_COMPLEX128},
      {at::kFloat8_e4m3fn, FLAGOS_COMPARE_FLOAT8_E4M3FN},
      {at::kFloat8_e5m2, FLAGOS_COMPARE_FLOAT8_E5M2},
  };
  for (const auto& [of, dtype] : kDtypes) {
    if (of == type) {
      return dtype;
    }
  }
  return std::nullopt;
}

const char* loaded_from_here = "";  // an address in this program, or in the library that this code is part of

std::unique_ptr<DeviceComparison> load_quietly() {
  const fs::path library = device_comparison_library();
  try {
    if (library.empty()) {
      throw std::runtime_error(fmt::format("{} is not beside the program: it is built where nvcc is found", kLibrary));
    }
    return std::make_unique<DeviceComparison>(library);
  } catch (const std::exception& error) {
    fmt::print(stderr, "flagos-diag: large tensors are compared by torch's operators: {}\n", error.what());
  }
  return nullptr;
}

}  // namespace

DeviceComparison::DeviceComparison(const fs::path& library) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);  // stays loaded, with its CUDA runtime
  if (handle == nullptr) {
    throw std::runtime_error(dlerror());
  }
  const auto version = symbol<decltype(&flagos_compare_version)>(handle, "flagos_compare_version")();
  if (version != FLAGOS_COMPARE_VERSION) {
    throw std::runtime_error(fmt::format("{} has version {}, not {}: it is of another build", library.string(), version,
                                         FLAGOS_COMPARE_VERSION));
  }
  compare_ = symbol<decltype(&flagos_compare)>(handle, "flagos_compare");
  message_ = symbol<decltype(&flagos_compare_message)>(handle, "flagos_compare_message");
}

std::optional<flagos_compare_result> DeviceComparison::compare(const at::Tensor& a, const at::Tensor& b) const {
  const std::optional<int> dtype = dtype_of(a.scalar_type());
  if (!dtype.has_value()) {
    return std::nullopt;
  }
  const c10::Device device = to_target_device(a.device());
  const at::Tensor workspace =
      at::empty({FLAGOS_COMPARE_WORKSPACE_BYTES}, at::TensorOptions().dtype(at::kByte).device(device));
  flagos_compare_request request{};
  request.a = a.const_data_ptr();
  request.b = b.const_data_ptr();
  request.device = device.index();
  request.dtype = *dtype;
  request.dim = static_cast<int>(a.dim());
  request.sizes = a.sizes().data();
  request.strides_a = a.strides().data();
  request.strides_b = b.strides().data();
  request.workspace = workspace.mutable_data_ptr();
  // The stream is the legacy default one: whatever stream the tensors come from is waited for.
  c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index());
  flagos_compare_result result{};
  const int status = compare_(&request, &result);
  if (status == FLAGOS_COMPARE_TOO_MANY_DIMENSIONS) {
    return std::nullopt;
  }
  if (status != FLAGOS_COMPARE_OK) {
    throw std::runtime_error(fmt::format("comparing on the device failed: {}", message_()));
  }
  return result;
}

fs::path device_comparison_library() {
  Dl_info info{};
  if (dladdr(static_cast<const void*>(&loaded_from_here), &info) == 0 || info.dli_fname == nullptr) {
    return {};
  }
  std::error_code error;
  const fs::path here = fs::weakly_canonical(info.dli_fname, error).parent_path();
  for (const fs::path& directory : {here, here / "cuda", here.parent_path() / FLAGOS_DIAG_LIBEXEC}) {
    if (fs::exists(directory / kLibrary, error)) {
      return directory / kLibrary;
    }
  }
  return {};
}

const DeviceComparison* device_comparison() {
  static const std::unique_ptr<DeviceComparison> loaded = load_quietly();
  return loaded.get();
}

bool wants_device_comparison(const at::Tensor& a, const at::Tensor& b) {
  const c10::Device device = to_target_device(a.device());
  return device.is_cuda() && device == to_target_device(b.device()) && a.layout() == at::kStrided &&
         static_cast<int64_t>(a.nbytes()) > kDeviceComparisonBytes;
}

}  // namespace flagos::diag
