#include "ops/cudnn_composites.h"

#include <ATen/native/GridSamplerUtils.h>
#include <ATen/native/RNN.h>
#include <ATen/ops/cudnn_grid_sampler.h>

#include <string_view>
#include <utility>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"
#include "device/target_constants.h"

namespace flagos::ops {
namespace {

using at::Tensor;
using torch::jit::Stack;

constexpr auto kCuda = c10::DeviceType::CUDA;

bool on_flagos(const Tensor& tensor) { return tensor.defined() && boxing::is_boxable(*tensor.unsafeGetTensorImpl()); }

bool cudnn_takes(const Tensor& input) {
  return on_flagos(input) && at::native::cudnn_is_acceptable(boxing::as_target(input));
}

#ifdef FLAGOS_CALLS_DISPATCH_STUBS
// The arguments that all of the recurrent operators end with; batch_first is not there for packed sequences.
struct Layers {
  std::vector<Tensor> parameters;
  bool has_biases;
  int64_t count;
  double dropout;
  bool train;
  bool bidirectional;
  bool batch_first;

  Layers(c10::ArrayRef<c10::IValue> arguments, size_t at)
      : parameters(arguments[at].toTensorVector()),
        has_biases(arguments[at + 1].toBool()),
        count(arguments[at + 2].toInt()),
        dropout(arguments[at + 3].toDouble()),
        train(arguments[at + 4].toBool()),
        bidirectional(arguments[at + 5].toBool()),
        batch_first(arguments.size() > at + 6 && arguments[at + 6].toBool()) {}

  bool stateless() const { return dropout == 0 || !train; }
};

bool run_lstm(c10::ArrayRef<c10::IValue> arguments, bool packed, Stack& results) {
  const Tensor input = arguments[0].toTensor();
  const size_t hidden_at = packed ? 2 : 1;
  const auto hidden = arguments[hidden_at].toTensorVector();
  const Layers layers(arguments, hidden_at + 1);
  if (!layers.stateless() || hidden.size() != 2) {
    return false;
  }
  Tensor output;
  Tensor hy;
  Tensor cy;
  if (packed) {
    at::native::lstm_packed_cudnn_stub(kCuda, output, hy, cy, input, arguments[1].toTensor(), hidden, layers.parameters,
                                       layers.has_biases, layers.count, layers.dropout, layers.train,
                                       layers.bidirectional);
  } else {
    at::native::lstm_cudnn_stub(kCuda, output, hy, cy, input, hidden, layers.parameters, layers.has_biases,
                                layers.count, layers.dropout, layers.train, layers.bidirectional, layers.batch_first);
  }
  torch::jit::push(results, output, hy, cy);
  return true;
}

template <class Stub, class PackedStub>
bool run_rnn(Stub& stub, PackedStub& packed_stub, c10::ArrayRef<c10::IValue> arguments, bool packed, Stack& results) {
  const Tensor input = arguments[0].toTensor();
  const size_t hidden_at = packed ? 2 : 1;
  const Tensor hidden = arguments[hidden_at].toTensor();
  const Layers layers(arguments, hidden_at + 1);
  if (!layers.stateless()) {
    return false;
  }
  Tensor output;
  Tensor hy;
  if (packed) {
    packed_stub(kCuda, output, hy, input, arguments[1].toTensor(), hidden, layers.parameters, layers.has_biases,
                layers.count, layers.dropout, layers.train, layers.bidirectional);
  } else {
    stub(kCuda, output, hy, input, hidden, layers.parameters, layers.has_biases, layers.count, layers.dropout,
         layers.train, layers.bidirectional, layers.batch_first);
  }
  torch::jit::push(results, output, hy);
  return true;
}

bool run_recurrent(std::string_view name, bool packed, c10::ArrayRef<c10::IValue> arguments, Stack& results) {
  using namespace at::native;  // NOLINT(google-build-using-namespace): the stubs
  if (name == "aten::lstm") {
    return run_lstm(arguments, packed, results);
  }
  if (name == "aten::gru") {
    return run_rnn(gru_cudnn_stub, gru_packed_cudnn_stub, arguments, packed, results);
  }
  if (name == "aten::rnn_tanh") {
    return run_rnn(rnn_tanh_cudnn_stub, rnn_tanh_packed_cudnn_stub, arguments, packed, results);
  }
  if (name == "aten::rnn_relu") {
    return run_rnn(rnn_relu_cudnn_stub, rnn_relu_packed_cudnn_stub, arguments, packed, results);
  }
  return false;
}
#else
bool run_recurrent(std::string_view /*name*/, bool /*packed*/, c10::ArrayRef<c10::IValue> /*arguments*/,
                   Stack& /*results*/) {
  return false;
}
#endif

// As at::native::grid_sampler chooses: bilinear, zeros, corners aligned.
bool run_grid_sampler(c10::ArrayRef<c10::IValue> arguments, Stack& results) {
  const Tensor input = arguments[0].toTensor();
  const Tensor grid = arguments[1].toTensor();
  const bool bilinear_zeros_aligned = arguments[2].toInt() == 0 && arguments[3].toInt() == 0 && arguments[4].toBool();
  if (!bilinear_zeros_aligned || !on_flagos(grid) ||
      !at::native::cond_cudnn_grid_sampler(boxing::as_target(input), boxing::as_target(grid))) {
    return false;
  }
  at::native::check_grid_sampler_common(input, grid);
  torch::jit::push(results, at::cudnn_grid_sampler(input, grid));
  return true;
}

bool run(std::string_view name, bool packed, c10::ArrayRef<c10::IValue> arguments, Stack& results) {
  return name == "aten::grid_sampler" ? run_grid_sampler(arguments, results)
                                      : run_recurrent(name, packed, arguments, results);
}

}  // namespace

bool run_with_cudnn(const c10::OperatorHandle& op, Stack& stack) {
  const auto& name = op.operator_name();
  const size_t count = op.schema().arguments().size();
  if (target().type != kCuda || !stack[stack.size() - count].isTensor() ||
      !cudnn_takes(stack[stack.size() - count].toTensor())) {
    return false;
  }
  Stack results;
  if (!run(name.name, name.overload_name == "data", torch::jit::last(stack, count), results)) {
    return false;
  }
  torch::jit::drop(stack, count);
  stack.insert(stack.end(), results.begin(), results.end());
  return true;
}

}  // namespace flagos::ops
