// Large tensors of the CUDA target compared on the device, by libflagos-device-compare where there is one.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cuda/device_compare/device_compare.h"

namespace flagos::diag {

// Smaller tensors are compared by torch's own operators, in about the time that a call of the library takes.
inline constexpr int64_t kDeviceComparisonBytes = int64_t{1} << 20;

class DeviceComparison {
 public:
  // Loads the library. Throws std::runtime_error that says why it can't be.
  explicit DeviceComparison(const std::filesystem::path& library);

  // Two tensors of one dtype and shape on one CUDA device, or on flagos devices over it; waits for all work of that
  // device. Nothing for a dtype or a number of dimensions that the library does not know. Throws std::runtime_error
  // for an error of CUDA. Any thread.
  std::optional<flagos_compare_result> compare(const at::Tensor& a, const at::Tensor& b) const;

 private:
  decltype(&flagos_compare) compare_;
  decltype(&flagos_compare_message) message_;
};

// The library beside this program, or where `meson install` puts it; empty when there is none.
std::filesystem::path device_comparison_library();

// The process's comparison; null when there is no library. The first call loads it, and says on standard error (which
// --verbose shows) why it could not.
const DeviceComparison* device_comparison();

// Whether two tensors are for device_comparison(): on CUDA, strided, and of more than kDeviceComparisonBytes.
bool wants_device_comparison(const at::Tensor& a, const at::Tensor& b);

}  // namespace flagos::diag
