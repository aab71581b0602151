#include "ops/rnn_cells.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "boxing/shallow_copy.h"
#include "device/target_constants.h"
#include "kernel/replacement.h"

namespace flagos::ops {
namespace {

using at::Tensor;
using boxing::as_flagos;
using boxing::as_target;
using OptionalTensor = std::optional<Tensor>;

Tensor with_bias(const Tensor& gates, const OptionalTensor& bias) {
  return bias.has_value() && bias->defined() ? gates + as_target(*bias) : gates;
}

// The `count` gates side by side. chunk() alone would give fewer for a width that it can't divide.
std::vector<Tensor> gates_of(const Tensor& gates, int64_t count, const char* name) {
  TORCH_CHECK(gates.defined() && gates.dim() == 2 && gates.size(1) % count == 0, "flagos: ", name,
              " needs two dimensions, (batch, ", count, " * hidden)",
              gates.defined() ? c10::str(", but has shape ", gates.sizes(), ".") : ", but is undefined.");
  return gates.chunk(count, 1);
}

Tensor sigmoid_gradient(const Tensor& value) { return (1 - value) * value; }

// gates: (batch, 4 * hidden), the input, forget, cell and output gates side by side.
std::tuple<Tensor, Tensor, Tensor> lstm_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& cx,
                                             const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  const Tensor gates = with_bias(as_target(input_gates), input_bias) + with_bias(as_target(hidden_gates), hidden_bias);
  const std::vector<Tensor> parts = gates_of(gates, 4, "the sum of the gates");
  const Tensor in = parts[0].sigmoid();
  const Tensor forget = parts[1].sigmoid();
  const Tensor cell = parts[2].tanh();
  const Tensor out = parts[3].sigmoid();
  const Tensor cy = forget * as_target(cx) + in * cell;
  const Tensor hy = out * cy.tanh();
  return {as_flagos(hy), as_flagos(cy), as_flagos(at::cat({in, forget, cell, out}, 1))};
}

std::tuple<Tensor, Tensor, Tensor> lstm_cell_backward(const OptionalTensor& grad_hy, const OptionalTensor& grad_cy,
                                                      const Tensor& cx, const Tensor& cy, const Tensor& workspace,
                                                      bool has_bias) {
  const std::vector<Tensor> parts = gates_of(as_target(workspace), 4, "workspace");
  const Tensor& in = parts[0];
  const Tensor& forget = parts[1];
  const Tensor& cell = parts[2];
  const Tensor& out = parts[3];
  const auto given = [&](const OptionalTensor& grad) {
    return grad.has_value() && grad->defined() ? as_target(*grad) : at::zeros_like(in);
  };
  const Tensor grad_h = given(grad_hy);
  const Tensor tanh_cy = as_target(cy).tanh();
  const Tensor grad_c = grad_h * out * (1 - tanh_cy * tanh_cy) + given(grad_cy);
  const Tensor grad_gates =
      at::cat({grad_c * cell * sigmoid_gradient(in), grad_c * as_target(cx) * sigmoid_gradient(forget),
               grad_c * in * (1 - cell * cell), grad_h * tanh_cy * sigmoid_gradient(out)},
              1);
  return {as_flagos(grad_gates), as_flagos(grad_c * forget), has_bias ? as_flagos(grad_gates.sum(0)) : Tensor()};
}

// gates: (batch, 3 * hidden), the reset, update and new gates side by side; workspace: (batch, 5 * hidden), the three
// gates, hx, and the hidden part of the new gate.
std::tuple<Tensor, Tensor> gru_cell(const Tensor& input_gates, const Tensor& hidden_gates, const Tensor& hx,
                                    const OptionalTensor& input_bias, const OptionalTensor& hidden_bias) {
  const std::vector<Tensor> from_input = gates_of(with_bias(as_target(input_gates), input_bias), 3, "input_gates");
  const std::vector<Tensor> from_hidden = gates_of(with_bias(as_target(hidden_gates), hidden_bias), 3, "hidden_gates");
  const Tensor h = as_target(hx);
  const Tensor reset = (from_input[0] + from_hidden[0]).sigmoid();
  const Tensor update = (from_input[1] + from_hidden[1]).sigmoid();
  const Tensor fresh = (from_input[2] + reset * from_hidden[2]).tanh();
  const Tensor hy = fresh + update * (h - fresh);
  return {as_flagos(hy), as_flagos(at::cat({reset, update, fresh, h, from_hidden[2]}, 1))};
}

std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor> gru_cell_backward(const Tensor& grad_hy, const Tensor& workspace,
                                                                     bool has_bias) {
  const std::vector<Tensor> parts = gates_of(as_target(workspace), 5, "workspace");
  const Tensor& reset = parts[0];
  const Tensor& update = parts[1];
  const Tensor& fresh = parts[2];
  const Tensor grad = as_target(grad_hy);
  const Tensor grad_update = grad * (parts[3] - fresh) * sigmoid_gradient(update);
  const Tensor grad_fresh = grad * (1 - update) * (1 - fresh * fresh);
  const Tensor grad_reset = grad_fresh * parts[4] * sigmoid_gradient(reset);
  const Tensor grad_input = at::cat({grad_reset, grad_update, grad_fresh}, 1);
  const Tensor grad_hidden = at::cat({grad_reset, grad_update, grad_fresh * reset}, 1);
  return {as_flagos(grad_input), as_flagos(grad_hidden), as_flagos(grad * update),
          has_bias ? as_flagos(grad_input.sum(0)) : Tensor(), has_bias ? as_flagos(grad_hidden.sum(0)) : Tensor()};
}

void add(const char* name, c10::KernelFunction kernel) {
  const c10::OperatorName full(name, "");
  const auto op = c10::Dispatcher::singleton().findSchema(full);
  if (op.has_value() && !op->hasKernelForDispatchKey(target().dense_key)) {
    kernel::register_composite(full, c10::DispatchKey::PrivateUse1, std::move(kernel));
  }
}

}  // namespace

void register_rnn_cells() {
  add("aten::_thnn_fused_lstm_cell", c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(lstm_cell)));
  add("aten::_thnn_fused_lstm_cell_backward_impl",
      c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(lstm_cell_backward)));
  add("aten::_thnn_fused_gru_cell", c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(gru_cell)));
  add("aten::_thnn_fused_gru_cell_backward", c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(gru_cell_backward)));
}

}  // namespace flagos::ops
