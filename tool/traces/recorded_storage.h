// Tensors of a recorded call: storages filled with noise, and the tensors as views of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <map>
#include <vector>

#include "traces/argument_source.h"
#include "traces/call_record.h"

namespace flagos::diag {

// Allocates a call's storages once, then hands out its tensors. Data depend on the seed, the storage's place in the
// call and the element's index, and on nothing else: they are the same on each device and in each run.
class RecordedStorages {
 public:
  // Throws std::runtime_error for more than 1 GiB in all and for dtypes that can't be filled.
  RecordedStorages(const std::vector<Value>& arguments, const MaterializeOptions& options);

  // The tensor of `record`, which must be one of the constructor's arguments.
  at::Tensor tensor(const TensorRecord& record) const;

 private:
  struct Storage {
    c10::ScalarType dtype = c10::ScalarType::Float;  // of the first tensor in it; others are views of another dtype
    int64_t bytes = 0;
    int uses = 0;  // tensors in it
    std::optional<std::pair<int64_t, int64_t>> range;
    at::Tensor data;  // one-dimensional, on the device
  };
  // Tensors without elements share no storage with others: the trace gives all of them the same, absent one.
  using Key = std::pair<int64_t, int64_t>;

  static Key key_of(const TensorRecord& record);
  c10::ScalarType dtype_of(const TensorRecord& record) const;
  void measure(const Value& value);
  void fill();

  const MaterializeOptions options_;
  std::map<Key, Storage> storages_;
  std::vector<Key> order_;  // of first appearance, which numbers the noise
};

}  // namespace flagos::diag
