#include "ops/choice_of_target.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <optional>
#include <string_view>
#include <tuple>
#include <utility>

#include "boxing/shallow_copy.h"
#include "boxing/tensors_of.h"
#include "device/target_constants.h"
#include "flagos/target.h"
#include "ops/batch_norm.h"
#include "ops/grid_sampler.h"

namespace flagos::ops {
namespace {

using torch::jit::Stack;

bool run_batch_norm(Stack& stack) {
  constexpr size_t kArguments = 9;
  const auto arguments = torch::jit::last(stack, kArguments);
  const auto optional = [&](size_t i) { return arguments[i].toOptional<at::Tensor>(); };
  const at::Tensor input = arguments[0].toTensor();
  const bool training = arguments[5].toBool();
  const double eps = arguments[7].toDouble();
  if (!batch_norm_uses_cudnn(input, optional(1), optional(2), optional(3), optional(4), training, eps)) {
    return false;
  }
  auto results = cudnn_batch_norm(input, optional(1), optional(2), optional(3), optional(4), training,
                                  arguments[6].toDouble(), eps);
  torch::jit::drop(stack, kArguments);
  std::apply([&](auto&&... each) { torch::jit::push(stack, each...); }, results);
  return true;
}

// PyTorch's casts leave a tensor of a device that they don't know alone. Nothing is done for one that they wouldn't
// cast on the target either. The arguments: self, enabled on CUDA, enabled on the CPU; to reduce, the dtypes of both
// too.
template <bool reduces>
bool run_cast(Stack& stack) {
  const size_t count = reduces ? 5 : 3;
  const auto arguments = torch::jit::last(stack, count);
  const at::Tensor self = arguments[0].toTensor();
  const bool on_cuda = target().type == c10::DeviceType::CUDA;
  const bool is_reduced = self.scalar_type() == at::kHalf || self.scalar_type() == at::kBFloat16;
  if (!arguments[on_cuda ? 1 : 2].toBool() || !(reduces ? self.scalar_type() == at::kFloat : is_reduced)) {
    return false;
  }
  at::Tensor cast = self.to(reduces ? arguments[on_cuda ? 3 : 4].toScalarType() : at::kFloat);
  torch::jit::drop(stack, count);
  torch::jit::push(stack, std::move(cast));
  return true;
}

bool is_functional(const at::Tensor& tensor) { return at::functionalization::impl::isFunctionalTensor(tensor); }

at::Tensor unwrapped(const at::Tensor& tensor) {
  if (!is_functional(tensor)) {
    return tensor;
  }
  at::functionalization::impl::sync(tensor);
  return at::functionalization::impl::from_functional_tensor(tensor);
}

// lstm, gru, rnn_tanh and rnn_relu reach cuDNN by code of libtorch that asks for the device again. So tensors in
// functionalization's wrappers, with nothing to differentiate, are taken out of them, as functionalization's own
// fallback does for an operator that it does not know: these change none of their arguments, and return no view of one.
// Not on the CPU target, where PyTorch takes them apart itself.
bool run_recurrent(const c10::OperatorHandle& op, Stack& stack) {
  const auto arguments = torch::jit::last(stack, op.schema().arguments().size());
  bool wrapped = false;
  for (const c10::IValue& argument : arguments) {
    boxing::for_each_tensor(argument, [&](const at::Tensor& tensor) { wrapped = wrapped || is_functional(tensor); });
  }
  if (!target().has_index || !wrapped || boxing::wants_gradient(arguments)) {
    return false;
  }
  Stack below;
  for (const c10::IValue& argument : arguments) {
    below.push_back(boxing::converted(argument, unwrapped));
  }
  {
    const c10::impl::ExcludeDispatchKeyGuard below_functionalization(c10::DispatchKey::Functionalize);
    op.callBoxed(below);
  }
  torch::jit::drop(stack, arguments.size());
  for (const c10::IValue& result : below) {
    stack.push_back(boxing::converted(
        result, [](const at::Tensor& tensor) { return at::functionalization::impl::to_functional_tensor(tensor); }));
  }
  return true;
}

struct Choice {
  std::string_view op;
  bool (*run)(const c10::OperatorHandle& op, Stack& stack);
};

template <auto run>
constexpr Choice choice(std::string_view name) {
  return {name, [](const c10::OperatorHandle& /*op*/, Stack& stack) { return run(stack); }};
}

constexpr std::array kChoices{
    choice<&run_batch_norm>("aten::_batch_norm_impl_index"),
    choice<&run_cast<true>>("aten::_autocast_to_reduced_precision"),
    choice<&run_cast<false>>("aten::_autocast_to_full_precision"),
    choice<&run_cudnn_grid_sampler>("aten::grid_sampler"),
    Choice{"aten::lstm", &run_recurrent},
    Choice{"aten::gru", &run_recurrent},
    Choice{"aten::rnn_tanh", &run_recurrent},
    Choice{"aten::rnn_relu", &run_recurrent},
};

// lstm.data and its kin read batch_sizes on the host; cuDNN's path checks that, aten's own would crash.
void check_batch_sizes(const c10::OperatorHandle& op, const Stack& stack) {
  const at::Tensor batch_sizes = torch::jit::peek(stack, 1, op.schema().arguments().size()).toTensor();
  TORCH_CHECK(!target().has_index || batch_sizes.device().is_cpu(), "batch_sizes tensor should be on CPU, but got ",
              batch_sizes.device());
}

}  // namespace

bool run_choice_of_target(const c10::OperatorHandle& op, Stack& stack) {
  if (op.operator_name().overload_name == "data") {
    check_batch_sizes(op, stack);
  }
  for (const Choice& each : kChoices) {
    if (each.op == op.operator_name().name) {
      return each.run(op, stack);
    }
  }
  return false;
}

}  // namespace flagos::ops
