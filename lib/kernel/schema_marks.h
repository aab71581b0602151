// Which arguments a schema marks as mutated, read from its text at compile time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace flagos::kernel {

// Bit i is set when argument i carries a write annotation, "Tensor(a!) self" or "Tensor(a!)[] self". The C++ type can't
// tell: resize_ and its kin take a const Tensor&. Source of the grammar: native_functions.yaml's README in PyTorch.
constexpr uint64_t mutated_arguments(std::string_view schema) {
  uint64_t marks = 0;
  size_t index = 0;
  int depth = 0;
  bool in_brackets = false;
  for (size_t i = schema.find('(') + 1; i < schema.size(); ++i) {
    const char c = schema[i];
    if (c == '(') {
      ++depth;
    } else if (c == ')') {
      if (depth == 0) {
        break;
      }
      --depth;
    } else if (c == '[' || c == ']') {
      in_brackets = c == '[';
    } else if (c == '!' && depth > 0) {
      marks |= uint64_t{1} << index;
    } else if (c == '*' && depth == 0 && schema[i + 1] == ',') {
      ++i;  // the keyword-only marker is no argument
    } else if (c == ',' && depth == 0 && !in_brackets) {
      ++index;
    }
  }
  return marks;
}

}  // namespace flagos::kernel
