// What a call left behind, made comparable.
#pragma once

#include <ATen/core/stack.h>

#include "verify/comparison.h"

namespace flagos::diag {

// Adds the results of a call to `outcome`: tensors to its outputs, lists of them one by one, others as text.
void take_results(const torch::jit::Stack& results, CallOutcome& outcome);

// Makes of each tensor one with memory. What it was is noted among the values. Throws what PyTorch throws.
void take_out_of_wrappers(CallOutcome& outcome);

}  // namespace flagos::diag
