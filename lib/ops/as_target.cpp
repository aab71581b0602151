#include "ops/as_target.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "boxing/alias.h"
#include "boxing/shallow_copy.h"
#include "boxing/tensors_of.h"
#include "device/target_constants.h"
#include "flagos/target.h"
#include "kernel/replacement.h"
#include "ops/choice_of_target.h"
#include "ops/target_graph.h"
#include "redispatch/operator_table.h"

namespace flagos::ops {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;
using c10::IValue;

// Operators of aten with a CompositeImplicit kernel that branches on the device type; overloads that a torch version
// lacks are passed over.
constexpr std::array kOperators{
    "lstm.input",
    "lstm.data",
    "gru.input",
    "gru.data",
    "rnn_tanh.input",
    "rnn_tanh.data",
    "rnn_relu.input",
    "rnn_relu.data",
    "lstm_cell",
    "gru_cell",
    "rnn_tanh_cell",
    "rnn_relu_cell",
    "ctc_loss.IntList",
    "ctc_loss.Tensor",
    "batch_norm",
    "instance_norm",
    "_batch_norm_impl_index",
    "grid_sampler",
    "rms_norm",
    "_autocast_to_reduced_precision",
    "_autocast_to_full_precision",
};

// Ones that only the CPU treats in a way of its own; on CUDA PyTorch's composite does the same as for any device.
constexpr std::array kOnCpuOnly{
    "dropout", "group_norm", "max_pool1d", "quantile", "quantile.scalar", "nanquantile", "nanquantile.scalar",
};

// out= overloads of those: their results are computed by the functional overload, which checks more on the CPU.
constexpr std::array kOutOnCpuOnly{"quantile.out", "nanquantile.out"};

// Operators with a derivative formula that branches on is_cuda(), as evenly_distribute_backward does.
constexpr std::array kDerivativeAsks{"max", "min", "median", "nanmedian", "renorm"};

// Whether this call may run on target tensors; see the Note.
bool applies(c10::ArrayRef<IValue> arguments) {
  constexpr uint64_t kModes = keys::bits(DispatchKey::Python) | keys::bits(DispatchKey::Functionalize) |
                              keys::bits(DispatchKey::FuncTorchDynamicLayerFrontMode) |
                              keys::bits(DispatchKey::PythonDispatcher);
  const auto modes = c10::impl::tls_local_dispatch_key_set();
  if (((modes.included_ - modes.excluded_).raw_repr() & kModes) != 0) {
    return false;
  }
  constexpr uint64_t kWrapped =
      kModes | keys::bits(DispatchKey::FuncTorchBatched) | keys::bits(DispatchKey::FuncTorchGradWrapper);
  bool possible = true;
  for (const IValue& argument : arguments) {
    boxing::for_each_tensor(argument, [&](const at::Tensor& tensor) {
      if (!tensor.defined() || tensor.device().type() != c10::DeviceType::PrivateUse1) {
        return;
      }
      const auto& impl = *tensor.unsafeGetTensorImpl();
      possible = possible && boxing::is_boxable(impl) && (impl.key_set().raw_repr() & kWrapped) == 0 &&
                 !tensor._fw_grad(/*level=*/0).defined();
    });
  }
  return possible;
}

// PyTorch's composite, on the flagos tensors as they are, but for what it would choose on the target.
void run_composite(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  if (!run_choice_of_target(op, stack)) {
    // The table entry of a backend that has no kernel of its own is PyTorch's composite.
    op.redispatchBoxed(DispatchKeySet(DispatchKey::AutogradPrivateUse3), &stack);
  }
}

// On target tensors the target's autocast is what flagos's is, and as it was afterwards.
class TargetAutocast {
 public:
  TargetAutocast() {
    at::autocast::set_autocast_enabled(target().type, at::autocast::is_autocast_enabled(at::kPrivateUse1));
    at::autocast::set_autocast_dtype(target().type, at::autocast::get_autocast_dtype(at::kPrivateUse1));
  }
  ~TargetAutocast() {
    at::autocast::set_autocast_enabled(target().type, enabled_);
    at::autocast::set_autocast_dtype(target().type, dtype_);
  }
  TargetAutocast(const TargetAutocast&) = delete;
  TargetAutocast& operator=(const TargetAutocast&) = delete;

 private:
  const bool enabled_ = at::autocast::is_autocast_enabled(target().type);
  const at::ScalarType dtype_ = at::autocast::get_autocast_dtype(target().type);
};

void run_as_target(const c10::OperatorHandle& op, DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  if (!try_on_target(op, *stack)) {
    run_composite(op, *stack);
  }
}

// The arguments of an out= overload without the last, out, are those of the functional one.
void run_out_as_target(const c10::OperatorHandle& op, DispatchKeySet /*keys*/, torch::jit::Stack* stack) {
  const auto arguments = torch::jit::last(*stack, op.schema().arguments().size());
  at::Tensor out = arguments.back().toTensor();
  const at::Tensor self = arguments.front().toTensor();
  if (!applies(arguments) || out.scalar_type() != self.scalar_type() || out.device() != self.device()) {
    run_composite(op, *stack);
    return;
  }
  torch::jit::Stack results(arguments.begin(), arguments.end() - 1);
  c10::Dispatcher::singleton().findSchemaOrThrow(op.operator_name().name.c_str(), "").callBoxed(results);
  const at::Tensor result = results.front().toTensor();
  at::native::resize_output(out, result.sizes());
  out.copy_(result);
  torch::jit::drop(*stack, arguments.size());
  torch::jit::push(*stack, std::move(out));
}

void derive_as_target(const c10::OperatorHandle& op, DispatchKeySet keys, torch::jit::Stack* stack) {
  if (!boxing::wants_gradient(torch::jit::last(*stack, op.schema().arguments().size())) || !try_on_target(op, *stack)) {
    // What PyTorch has for any device, in the table entry of one that is not overridden here.
    kernel_slot(op, DispatchKeySet(DispatchKey::AutogradPrivateUse3)).callBoxed(op, keys, stack);
  }
}

// Passes over an operator that this torch lacks or has no CompositeImplicit kernel of.
void register_for(const std::string& name, const c10::KernelFunction& kernel) {
  const size_t dot = name.find('.');
  const c10::OperatorName full("aten::" + name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1));
  const auto op = c10::Dispatcher::singleton().findSchema(full);
  if (op.has_value() && op->hasKernelForDispatchKey(DispatchKey::CompositeImplicitAutograd)) {
    for (const DispatchKey key : {DispatchKey::AutogradPrivateUse1, DispatchKey::PrivateUse1}) {
      kernel::register_composite(full, key, kernel);
    }
  }
}

void register_derivatives() {
  for (const char* name : kDerivativeAsks) {
    kernel::register_composite({std::string("aten::") + name, ""}, DispatchKey::AutogradPrivateUse1,
                               c10::KernelFunction::makeFromBoxedFunction<&derive_as_target>());
  }
}

}  // namespace

bool try_on_target(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const size_t count = op.schema().arguments().size();
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(count);
  if (!applies(c10::ArrayRef<IValue>(&*first, count))) {
    return false;
  }
  TargetGraph graph;
  torch::jit::Stack on_target;
  for (auto argument = first; argument != stack.end(); ++argument) {
    on_target.push_back(
        boxing::converted(*argument, [&](const at::Tensor& tensor) { return graph.to_target(tensor); }));
  }
  {
    const TargetAutocast autocast;
    op.callBoxed(on_target);
  }
  stack.erase(first, stack.end());
  for (const IValue& result : on_target) {
    stack.push_back(boxing::converted(result, [&](const at::Tensor& tensor) { return graph.to_flagos(tensor); }));
  }
  return true;
}

void register_as_target() {
  std::vector<std::string> names(kOperators.begin(), kOperators.end());
  if (!target().has_index) {
    names.insert(names.end(), kOnCpuOnly.begin(), kOnCpuOnly.end());
  }
  if (target().type == c10::DeviceType::CUDA) {
    register_derivatives();
  }
  for (const std::string& name : names) {
    register_for(name, c10::KernelFunction::makeFromBoxedFunction<&run_as_target>());
  }
  if (!target().has_index) {
    for (const char* name : kOutOnCpuOnly) {
      register_for(name, c10::KernelFunction::makeFromBoxedFunction<&run_out_as_target>());
    }
  }
}

}  // namespace flagos::ops
