#include "measure/argument_text.h"

#include <ATen/ATen.h>
#include <c10/core/ScalarType.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

namespace flagos::diag {
namespace {

constexpr size_t kLongest = 60;

std::string tensor_text(const at::Tensor& tensor) {
  if (!tensor.defined()) {
    return "undefined";
  }
  return fmt::format("{}[{}]", c10::getDtypeNames(tensor.scalar_type()).first, fmt::join(tensor.sizes(), ","));
}

std::string list_text(const std::vector<at::Tensor>& tensors) {
  return fmt::format("list of {}{}", tensors.size(), tensors.empty() ? "" : " " + tensor_text(tensors.front()));
}

// Empty: not worth a word.
std::string value_text(const c10::IValue& value) {
  if (value.isTensor()) {
    return tensor_text(value.toTensor());
  }
  if (value.isTensorList()) {
    return list_text(value.toTensorVector());
  }
  if (value.isInt()) {
    return fmt::format("{}", value.toInt());
  }
  if (value.isDouble()) {
    return fmt::format("{}", value.toDouble());
  }
  if (value.isIntList()) {
    return fmt::format("[{}]", fmt::join(value.toIntVector(), ","));
  }
  if (value.isBool()) {
    return value.toBool() ? "True" : "";
  }
  return value.isString() ? std::string(value.toStringRef()) : "";
}

}  // namespace

std::string argument_text(const Stack& arguments) {
  std::vector<std::string> words;
  for (const c10::IValue& value : arguments) {
    if (std::string word = value_text(value); !word.empty()) {
      words.push_back(std::move(word));
    }
  }
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  if (text.size() > kLongest) {
    text.resize(kLongest - 3);
    text += "...";
  }
  return text;
}

}  // namespace flagos::diag
