// The arguments of a case of verify, on the host.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <vector>

#include "traces/argument_source.h"
#include "verify/variants.h"

namespace flagos::diag {

// The recorded arguments of `call`, an operator's, changed as `variant` says; each arm gets copies of them. Throws
// std::runtime_error when they can't be made, and when the variant makes no sense for them.
std::vector<c10::IValue> host_arguments(const CallRecord& call, const c10::OperatorHandle& op, Variant variant,
                                        Data data, uint64_t seed);

}  // namespace flagos::diag
