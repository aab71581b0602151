// Execution traces, and the arguments made of their calls.
#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <sstream>
#include <stdexcept>

#include "fuzz_target.h"
#include "traces/argument_source.h"
#include "traces/exact_repeats.h"
#include "traces/execution_trace.h"

namespace flagos::fuzz {
namespace {

constexpr const char* kName = "fuzz.json";
constexpr int64_t kMostElements = 1 << 16;  // of a tensor that is made: the reader is under test, not the allocator

bool is_small(const diag::Value& value) {
  if (const auto* items = std::get_if<std::vector<diag::Value>>(&value.data)) {
    return std::all_of(items->begin(), items->end(), is_small);
  }
  const auto* tensor = std::get_if<diag::TensorRecord>(&value.data);
  if (tensor == nullptr) {
    return true;
  }
  int64_t last = tensor->offset;
  for (size_t i = 0; i < tensor->sizes.size(); ++i) {
    last += std::max<int64_t>(tensor->sizes[i] - 1, 0) * tensor->strides[i];  // the reader has ruled out overflow
  }
  return last < kMostElements;
}

// Refusals name the call.
void make_arguments(const diag::CallRecord& call) {
  const size_t dot = call.op.find('.');
  const auto op = c10::Dispatcher::singleton().findSchema(
      {call.op.substr(0, dot), dot == std::string::npos ? "" : call.op.substr(dot + 1)});
  if (!op.has_value() || !std::all_of(call.arguments.begin(), call.arguments.end(), is_small)) {
    return;
  }
  try {
    diag::materialize(call, *op, {});
  } catch (const std::runtime_error& error) {
    require_clear(error.what(), call.origin);
  }
}

}  // namespace

bool accepts(std::string_view input) {
  std::istringstream stream{std::string(input)};
  try {
    const auto warnings = diag::read_execution_trace(stream, kName, [](diag::CallRecord&& call) {
      diag::repeat_key(call);
      make_arguments(call);
    });
    for (const auto& warning : warnings) {
      require_clear(warning, kName);
    }
    return true;
  } catch (const std::runtime_error& error) {
    require_clear(error.what(), kName);
  }
  return false;
}

}  // namespace flagos::fuzz
