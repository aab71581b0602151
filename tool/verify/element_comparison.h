// The elements of two tensors, compared bit for bit.
#pragma once

#include <ATen/core/Tensor.h>

#include <optional>
#include <string>

#include "verify/difference.h"

namespace flagos::diag {

// Both are strided and have the same sizes, strides, dtype and device; large ones are compared where they are, only the
// first elements that differ are brought to the host. Payloads of NaN and signs of zeros count. `subject` names the
// tensors in the reason. None where a tensor has no elements or no memory.
std::optional<Difference> compare_elements(const std::string& subject, const at::Tensor& a, const at::Tensor& b);

}  // namespace flagos::diag
