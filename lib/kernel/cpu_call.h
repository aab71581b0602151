// A call carried out on the CPU, by copies: the last resort of the fallback, and the route "cpu".
#pragma once

#include <ATen/core/stack.h>

#include "kernel/registration.h"

namespace flagos::kernel {

// Why a call of `op` must not run on the CPU ("it returns a view", ...), or null when it may.
const char* cpu_call_refusal(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

// Copies the device tensors among the arguments on top of `stack` to the CPU, calls the operator there, copies what the
// schema marks mutated back (tensors and lists, resized as the CPU's were), and leaves the results, on the device of
// the arguments, in the arguments' place. A result that is an argument is the caller's own tensor.
void call_on_cpu(const c10::OperatorHandle& op, uint64_t mutated_args, torch::jit::Stack& stack);

}  // namespace flagos::kernel
