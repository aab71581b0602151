// The values of a recorded call: looked at, compared, and made smaller.
#pragma once

#include <ATen/core/function_schema.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "traces/call_record.h"

namespace flagos::diag {

using Values = std::vector<Value>;

// Calls `change` with each value, a list before what is in it.
void visit_values(Values& values, const std::function<void(Value&)>& change);
// The tensors among them, also those in lists.
void visit_records(Values& values, const std::function<void(TensorRecord&)>& change);

// Row-major, in elements; an empty dimension counts as one of 1.
std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes);
bool is_contiguous(const TensorRecord& record);

// What was contiguous stays so. Else smaller sizes keep the strides, and so lie within the same memory.
void resize_record(TensorRecord& record, std::vector<int64_t> sizes);
// The same, without a dimension.
void drop_dimension(TensorRecord& record, size_t dimension);

// Whether both are the same numbers, texts or lists of them; never of tensors.
bool same_value(const Value& a, const Value& b);

// The default of an argument, None of an optional one without; nothing for what a trace has no value for.
std::optional<Value> default_value_of(const c10::Argument& argument);

}  // namespace flagos::diag
