#include "situations/argument_tensors.h"

#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <map>
#include <string>

namespace flagos::diag {

void change_tensors(Stack& arguments, const c10::FunctionSchema& schema,
                    const std::function<at::Tensor(const at::Tensor&, bool)>& change) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto* alias = schema.arguments().at(i).alias_info();
    const bool mutated = alias != nullptr && alias->isWrite();
    c10::IValue& value = arguments[i];
    if (value.isTensor() && value.toTensor().defined()) {
      value = change(value.toTensor(), mutated);
    } else if (value.isTensorList()) {
      c10::List<at::Tensor> changed;
      for (const at::Tensor& tensor : value.toTensorVector()) {
        changed.push_back(tensor.defined() ? change(tensor, mutated) : tensor);
      }
      value = changed;
    } else if (value.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> changed;
      const auto list = value.toOptionalTensorList();
      for (size_t each = 0; each < list.size(); ++each) {
        const std::optional<at::Tensor> tensor = list.get(each);
        changed.push_back(tensor.has_value() && tensor->defined() ? std::optional(change(*tensor, mutated)) : tensor);
      }
      value = changed;
    }
  }
}

void visit_tensors(const Stack& arguments, const std::function<void(const at::Tensor&)>& visit) {
  for (const c10::IValue& value : arguments) {
    if (value.isTensor() && value.toTensor().defined()) {
      visit(value.toTensor());
    } else if (value.isTensorList()) {
      for (const at::Tensor& tensor : value.toTensorVector()) {
        if (tensor.defined()) {
          visit(tensor);
        }
      }
    } else if (value.isOptionalTensorList()) {
      const auto list = value.toOptionalTensorList();
      for (size_t i = 0; i < list.size(); ++i) {
        const std::optional<at::Tensor> tensor = list.get(i);
        if (tensor.has_value() && tensor->defined()) {
          visit(*tensor);
        }
      }
    }
  }
}

std::optional<size_t> host_argument(const c10::FunctionSchema& schema) {
  static const std::map<std::string, size_t, std::less<>> kArguments = {
      {"aten::tensor_split", 1}, {"aten::_pad_packed_sequence", 1}, {"aten::_pack_padded_sequence", 1}};
  const auto found = kArguments.find(schema.name());
  return found != kArguments.end() ? std::optional(found->second) : std::nullopt;
}

bool is_floating(const at::Tensor& tensor) { return tensor.is_floating_point() || tensor.is_complex(); }

}  // namespace flagos::diag
