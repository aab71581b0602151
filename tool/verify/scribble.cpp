#include "verify/scribble.h"

#include <ATen/ATen.h>

#include <vector>

namespace flagos::diag {
namespace {

constexpr int64_t kSmallestScribble = 64;  // bytes

}  // namespace

void scribble(c10::Device device, const CallOutcome& outcome, int pattern, int blocks_each, int64_t greatest) {
  std::vector<at::Tensor> blocks;
  const auto add = [&](int64_t bytes) {
    for (int i = 0; i < blocks_each && bytes <= kGreatestScribble; ++i) {
      blocks.push_back(at::full({bytes}, pattern, at::TensorOptions().dtype(at::kByte).device(device)));
    }
  };
  for (const auto* tensors : {&outcome.outputs, &outcome.inputs}) {
    for (const at::Tensor& tensor : *tensors) {
      if (tensor.defined() && tensor.layout() == at::kStrided && tensor.has_storage()) {
        add(static_cast<int64_t>(tensor.storage().nbytes()));
      }
    }
  }
  for (int64_t bytes = kSmallestScribble; bytes <= greatest; bytes *= 4) {
    add(bytes);
  }
}

}  // namespace flagos::diag
