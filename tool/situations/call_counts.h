// What the counters of all operators say of one recorded call.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

#include "report/report.h"
#include "traces/call_record.h"

namespace flagos::diag {

// Makes the arguments on flagos, calls the operator, and returns
//   {"counts": {"aten::mm": {"calls": 1, "hits": 1, "refused": {"FP-CONJ": 1}}}, "note": "what it threw"}
// with what was counted in the call alone. Resets the process's counters. Never throws for what the operator does.
Row count_call(const CallRecord& call, const c10::OperatorHandle& op, uint64_t seed);

}  // namespace flagos::diag
