// Operators of every kind of tensor argument, whose target's kernel throws where it is told to.
#pragma once

#include <ATen/core/List.h>

#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "boxing/custom_operator.h"

namespace flagos::testing {

// What the kernels do, argument by argument: throw at the one of this index, before that run `touch`.
struct Script {
  int throw_at = -1;
  std::function<void(at::Tensor&, bool mutated)> touch;
  int reached = 0;
};
Script& script();
void reach(const at::Tensor& tensor, bool mutated);

// One operator, to be called with a list of tensors by either convention.
struct FaultCase {
  std::string name;
  size_t tensors = 0;
  uint64_t mutated = 0;  // bit i: tensor i may change
  std::function<void(const std::vector<at::Tensor>&)> call;
  std::function<torch::jit::Stack(const std::vector<at::Tensor>&)> stack;
  std::function<c10::OperatorHandle()> handle;
};

// All of them, registered once.
const std::vector<FaultCase>& fault_cases();

}  // namespace flagos::testing
