// The tensors among an operator's arguments on a stack.
#pragma once

#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <ATen/core/stack.h>

#include <functional>
#include <optional>

namespace flagos::diag {

using Stack = torch::jit::Stack;

// Replaces each defined tensor argument, also those in lists, by what `change` returns for it. `mutated` says whether
// the schema lets the operator write to it.
void change_tensors(Stack& arguments, const c10::FunctionSchema& schema,
                    const std::function<at::Tensor(const at::Tensor& tensor, bool mutated)>& change);

// Calls `visit` with each defined tensor argument, also those in lists.
void visit_tensors(const Stack& arguments, const std::function<void(const at::Tensor&)>& visit);

// The argument that the operator reads on the host, and refuses on any device; nothing for most.
std::optional<size_t> host_argument(const c10::FunctionSchema& schema);

bool is_floating(const at::Tensor& tensor);  // real or complex

}  // namespace flagos::diag
