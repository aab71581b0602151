#include "kernel/cpu_call.h"

#include <ATen/ATen.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "boxing/tensors_of.h"

namespace flagos::kernel {
namespace {

using c10::IValue;

// A device tensor and its copy on the CPU.
struct Copied {
  at::Tensor original;
  at::Tensor copy;
  bool mutated;
};

class CpuCall {
 public:
  IValue argument(const IValue& value, bool mutated) {
    if (value.isTensor()) {
      return copied(value.toTensor(), mutated);
    }
    if (value.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        list.push_back(copied(tensor, mutated));
      }
      return list;
    }
    if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const std::optional<at::Tensor>& tensor : value.toOptionalTensorVector()) {
        list.push_back(tensor.has_value() ? std::optional(copied(*tensor, mutated)) : std::nullopt);
      }
      return list;
    }
    if (value.isDevice() && value.toDevice().type() == c10::DeviceType::PrivateUse1) {
      device_ = value.toDevice();
      return c10::Device(c10::kCPU);
    }
    return value;
  }

  void copy_back() const {
    for (const Copied& each : copied_) {
      if (!each.mutated) {
        continue;
      }
      if (each.original.sizes() != each.copy.sizes()) {
        each.original.resize_(each.copy.sizes());
      }
      each.original.copy_(each.copy);
    }
  }

  IValue result(const IValue& value) const {
    return boxing::converted(value, [this](const at::Tensor& tensor) { return on_device(tensor); });
  }

 private:
  at::Tensor copied(const at::Tensor& tensor, bool mutated) {
    if (!tensor.defined() || tensor.device().is_cpu()) {
      return tensor;
    }
    const auto known =
        std::find_if(copied_.begin(), copied_.end(), [&](const Copied& each) { return each.original.is_same(tensor); });
    if (known != copied_.end()) {
      known->mutated |= mutated;
      return known->copy;
    }
    device_ = tensor.device();
    copied_.push_back({tensor, tensor.to(at::kCPU), mutated});
    return copied_.back().copy;
  }

  at::Tensor on_device(const at::Tensor& tensor) const {
    if (!tensor.defined()) {
      return tensor;
    }
    for (const Copied& each : copied_) {
      if (each.copy.is_same(tensor)) {
        return each.original;
      }
    }
    return device_.has_value() ? tensor.to(*device_) : tensor;
  }

  std::vector<Copied> copied_;
  std::optional<c10::Device> device_;
};

bool has_tensor(const IValue& value) {
  return value.isTensor() ? value.toTensor().defined()
                          : (value.isTensorList() && !value.toTensorList().empty()) || value.isOptionalTensorList();
}

}  // namespace

const char* cpu_call_refusal(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& schema = op.schema();
  for (const auto& result : schema.returns()) {
    if (result.alias_info() != nullptr && !result.alias_info()->isWrite()) {
      return "it returns a view, which a copy would not be";
    }
  }
  if (op.hasTag(at::Tag::nondeterministic_seeded)) {
    return "it draws random numbers, which would be another generator's";
  }
  const size_t count = schema.arguments().size();
  if (std::none_of(stack.end() - static_cast<std::ptrdiff_t>(count), stack.end(), has_tensor)) {
    return "it makes a tensor, and the target has to make it";
  }
  return nullptr;
}

void call_on_cpu(const c10::OperatorHandle& op, uint64_t mutated_args, torch::jit::Stack& stack) {
  const size_t count = op.schema().arguments().size();
  const auto first = stack.end() - static_cast<std::ptrdiff_t>(count);
  CpuCall call;
  torch::jit::Stack on_cpu;
  for (size_t i = 0; i < count; ++i) {
    on_cpu.push_back(call.argument(*(first + static_cast<std::ptrdiff_t>(i)), ((mutated_args >> i) & 1) != 0));
  }
  op.callBoxed(on_cpu);
  call.copy_back();
  stack.erase(first, stack.end());
  for (const IValue& result : on_cpu) {
    stack.push_back(call.result(result));
  }
}

}  // namespace flagos::kernel
