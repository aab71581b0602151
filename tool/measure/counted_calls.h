// Instructions of recorded calls, on each arm.
#pragma once

#include <vector>

#include "measure/call_sequence.h"
#include "measure/instruction_counter.h"
#include "report/report.h"

namespace flagos::diag {

// {"instructions_per_call": {"native", "off", "on"}, "instructions_over_native": {"off", "on"}}: instructions of a run
// of `order`, warm, without those of handing over the arguments. What threads of a pool do is not among them. `calls`
// have been tried out. Gradients are off. Throws what the operators and the counter throw.
Row count_instructions(const std::vector<HostCall>& calls, const std::vector<size_t>& order,
                       InstructionCounter& counter);

}  // namespace flagos::diag
