#include "ops/cudnn_rnn.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <ATen/native/RNN.h>
#include <ATen/native/TensorProperties.h>

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "boxing/shallow_copy.h"
#include "device/target_constants.h"

namespace flagos::ops {
namespace {

using at::Tensor;
using c10::DeviceType;
using torch::jit::Stack;

// All forms have nine arguments. input: input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
// batch_first. data: data, batch_sizes, hx, params, has_biases, num_layers, dropout, train, bidirectional.
constexpr size_t kRnnArguments = 9;
constexpr size_t kHiddenOfInput = 1;
constexpr size_t kHiddenOfData = 2;

using Arguments = c10::ArrayRef<c10::IValue>;

// Calls `run` with what follows the hidden states, but for batch_first.
template <class Run>
void with_layers(Arguments arguments, size_t hidden, const Run& run) {
  const auto rest = arguments.slice(hidden + 1);
  run(rest[0].toTensorVector(), rest[1].toBool(), rest[2].toInt(), rest[3].toDouble(), rest[4].toBool(),
      rest[5].toBool());
}

template <auto& Stub>
Stack lstm_input(Arguments arguments) {
  Tensor output, hy, cy;
  with_layers(arguments, kHiddenOfInput, [&](const auto&... layers) {
    Stub(DeviceType::CUDA, output, hy, cy, arguments[0].toTensor(), arguments[kHiddenOfInput].toTensorVector(),
         layers..., arguments.back().toBool());
  });
  return {output, hy, cy};
}

template <auto& Stub>
Stack lstm_data(Arguments arguments) {
  Tensor output, hy, cy;
  with_layers(arguments, kHiddenOfData, [&](const auto&... layers) {
    Stub(DeviceType::CUDA, output, hy, cy, arguments[0].toTensor(), arguments[1].toTensor(),
         arguments[kHiddenOfData].toTensorVector(), layers...);
  });
  return {output, hy, cy};
}

template <auto& Stub>
Stack rnn_input(Arguments arguments) {
  Tensor output, hy;
  with_layers(arguments, kHiddenOfInput, [&](const auto&... layers) {
    Stub(DeviceType::CUDA, output, hy, arguments[0].toTensor(), arguments[kHiddenOfInput].toTensor(), layers...,
         arguments.back().toBool());
  });
  return {output, hy};
}

template <auto& Stub>
Stack rnn_data(Arguments arguments) {
  Tensor output, hy;
  with_layers(arguments, kHiddenOfData, [&](const auto&... layers) {
    Stub(DeviceType::CUDA, output, hy, arguments[0].toTensor(), arguments[1].toTensor(),
         arguments[kHiddenOfData].toTensor(), layers...);
  });
  return {output, hy};
}

struct Recurrent {
  std::string_view name;
  std::string_view overload;
  Stack (*run)(Arguments arguments);
};

namespace native = at::native;
constexpr std::array kRecurrent{
    Recurrent{"aten::lstm", "input", &lstm_input<native::lstm_cudnn_stub>},
    Recurrent{"aten::lstm", "data", &lstm_data<native::lstm_packed_cudnn_stub>},
    Recurrent{"aten::gru", "input", &rnn_input<native::gru_cudnn_stub>},
    Recurrent{"aten::gru", "data", &rnn_data<native::gru_packed_cudnn_stub>},
    Recurrent{"aten::rnn_tanh", "input", &rnn_input<native::rnn_tanh_cudnn_stub>},
    Recurrent{"aten::rnn_tanh", "data", &rnn_data<native::rnn_tanh_packed_cudnn_stub>},
    Recurrent{"aten::rnn_relu", "input", &rnn_input<native::rnn_relu_cudnn_stub>},
    Recurrent{"aten::rnn_relu", "data", &rnn_data<native::rnn_relu_packed_cudnn_stub>},
};

bool cudnn_would_run(const Tensor& input) {
  if (target().type != DeviceType::CUDA || !at::functionalization::impl::isFunctionalTensor(input)) {
    return false;
  }
  const Tensor stand_in = boxing::target_stand_in(input);
  return stand_in.defined() && native::cudnn_is_acceptable(stand_in);
}

}  // namespace

bool run_cudnn_rnn(const c10::OperatorName& op, Stack& stack) {
  for (const Recurrent& recurrent : kRecurrent) {
    if (recurrent.name == op.name && recurrent.overload == op.overload_name) {
      const auto arguments = torch::jit::last(stack, kRnnArguments);
      if (!cudnn_would_run(arguments[0].toTensor())) {
        return false;
      }
      Stack results = recurrent.run(arguments);
      torch::jit::drop(stack, kRnnArguments);
      stack.insert(stack.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
      return true;
    }
  }
  return false;
}

}  // namespace flagos::ops
