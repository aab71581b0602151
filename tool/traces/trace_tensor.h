// Tensors in execution traces: their dtypes by C++ name, and the checks that make a recorded layout safe to rebuild.
#pragma once

#include <nlohmann/json.hpp>

#include <string_view>

#include "traces/call_record.h"

namespace flagos::diag {

// The integer in `value`. Throws BadTrace, with `what` as its subject, for anything else and for overflow.
int64_t integer_of(const nlohmann::json& value, std::string_view what);

// A tensor from the four columns of a trace: [id, storage, offset, numel, itemsize, device], sizes, strides (null in
// traces that have none: then contiguous) and "Tensor(float)". An undefined tensor is std::monostate.
// Throws BadTrace where they contradict each other, NotReplayable for sparse, quantized and unknown tensors.
Value tensor_of(const nlohmann::json& value, const nlohmann::json& shape, const nlohmann::json& strides,
                std::string_view type);

}  // namespace flagos::diag
