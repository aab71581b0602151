#include "kernel/cpu_call.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <iterator>

#include "kernel/cpu_copies.h"

namespace flagos::kernel {
namespace {

using c10::IValue;

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
  const c10::ArrayRef<IValue> arguments(&*first, count);
  CpuCopies copies(arguments, mutated_args);
  torch::jit::Stack on_cpu;
  for (const IValue& argument : arguments) {
    on_cpu.push_back(copies.on_cpu(argument));
  }
  op.callBoxed(on_cpu);
  copies.copy_back();
  torch::jit::Stack results;
  for (const IValue& result : on_cpu) {
    results.push_back(copies.on_device(result));
  }
  stack.erase(first, stack.end());
  stack.insert(stack.end(), std::make_move_iterator(results.begin()), std::make_move_iterator(results.end()));
}

}  // namespace flagos::kernel
