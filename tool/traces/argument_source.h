// ArgumentSource: recorded calls by operator, from a trace file or from the bundled corpus.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/ivalue.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "traces/call_record.h"

namespace flagos::diag {

class ArgumentSource {
 public:
  // Reads a PyTorch execution trace. Throws std::runtime_error that names the file, the place and the remedy for a file
  // that can't be read, is no trace, or lies about itself. Nodes without a schema (autograd, threads) are passed over;
  // calls of operators that this torch doesn't have are listed in warnings().
  static ArgumentSource from_trace(const std::filesystem::path& file);

  // The corpus that was recorded when the project was built.
  static ArgumentSource bundled();

  // Calls of "aten::add.Tensor", in the order of the trace, without exact repeats; empty when there is none.
  const std::vector<CallRecord>& calls(std::string_view op) const;
  // The operators with at least one call, sorted.
  std::vector<std::string> operators() const;
  // The calls that together make up the trace, as they follow each other, exact repeats too: calls of operators that
  // PyTorch composes of others are left out, and so are those that a kernel made itself.
  struct Place {
    std::string op;
    size_t call;  // its number in calls(op)
  };
  const std::vector<Place>& sequence() const { return sequence_; }
  const std::vector<std::string>& warnings() const { return warnings_; }

 private:
  std::map<std::string, std::vector<CallRecord>, std::less<>> calls_;
  std::vector<Place> sequence_;
  std::vector<std::string> warnings_;
};

// What made-up tensors hold.
enum class Data {
  kNoise,     // seeded noise in (0.1, 0.9); integers within their range; booleans of each kind
  kConstant,  // 0.5 (complex: 0.5 + 0.25i); the least integer of the range; true
};
const char* data_name(Data data) noexcept;  // "noise", "constant"

struct MaterializeOptions {
  c10::Device device = c10::Device(c10::DeviceType::CPU);  // of the tensors, and of recorded device arguments
  uint64_t seed = 0;                                       // of float data
  Data data = Data::kNoise;
  bool complex_data = false;  // floating-point tensors become complex of the same precision (for the conj situation)
};

// Builds the arguments of `call` for `op` as the dispatcher's boxed calls take them. Tensors of one storage share one.
// Float data are seeded noise, the same for the same seed on each device; integer data lie within the recorded range
// (0 and 1 where none was recorded). Throws std::runtime_error naming op, argument and cause where it can't.
std::vector<c10::IValue> materialize(const CallRecord& call, const c10::OperatorHandle& op,
                                     const MaterializeOptions& options);

}  // namespace flagos::diag
