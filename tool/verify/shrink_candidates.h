// Smaller cases than a given one, which may fail as it does.
#pragma once

#include <ATen/core/function_schema.h>

#include <vector>

#include "traces/argument_source.h"
#include "traces/call_record.h"
#include "verify/variants.h"

namespace flagos::diag {

// What one case of verify is made of, besides its seed.
struct CaseInput {
  CallRecord call;
  Variant variant = Variant::kAsRecorded;
  Data data = Data::kNoise;
};

// Each a step smaller or plainer than `input`, the boldest first: no variant, constant data, shorter lists, fewer and
// default arguments, smaller and fewer dimensions, contiguous tensors with storages of their own. Tensors never reach
// beyond what they reach in `input`, integers that were valid indices of a shrunk dimension stay so. None for
// `fixed_layout` but changes of variant and data. Whether the operator accepts them is not known.
std::vector<CaseInput> shrink_candidates(const CaseInput& input, const c10::FunctionSchema& schema, bool fixed_layout);

}  // namespace flagos::diag
