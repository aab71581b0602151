// CallRecord: one recorded call of an operator, with what a trace says of its arguments.
#pragma once

#include <c10/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace flagos::diag {

// A tensor as a trace has it: its layout, not its data. Offset and strides are in elements.
struct TensorRecord {
  int64_t tensor_id = 0;   // the same in one trace: the same tensor
  int64_t storage_id = 0;  // the same in one trace: one storage
  int64_t offset = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  c10::ScalarType dtype = c10::ScalarType::Float;
  std::optional<std::pair<int64_t, int64_t>> range;  // least and greatest value, for integer data where recorded
};

// One argument. std::monostate is None; devices, layouts and strings are text as the trace spells them.
struct Value {
  std::variant<std::monostate, TensorRecord, std::vector<Value>, bool, int64_t, double, std::string> data;
};

struct CallRecord {
  std::string op;                // "aten::add.Tensor"
  std::vector<Value> arguments;  // in the order of the schema; what the trace left out at the end takes its default
  std::string origin;            // where it comes from, for messages: "corpus.json: node 812"
  int64_t node = 0;              // its number in the trace, and its parent's: the call or annotation it was made in
  int64_t parent = 0;
};

}  // namespace flagos::diag
