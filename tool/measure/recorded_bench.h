// Recorded calls measured: one call, or all calls of a trace as they follow each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "measure/bench.h"
#include "measure/instruction_counter.h"
#include "report/report.h"
#include "traces/argument_source.h"

namespace flagos::diag {

inline constexpr const char* kStep = "step";  // in the place of a call's number: the whole trace

// What bench() returns, and "case": the arguments in words, "float32[4,4], 2". For a call that can't be measured only
// "case" and "note", which says why. Never throws for what the operator does; a crash is the caller's to isolate.
Row bench_call(const ArgumentSource& source, const std::string& op, size_t call, const BenchOptions& options);

// The same of the whole trace, a run of which makes each recorded call once, and "left_out": {"aten::x": why}, the
// calls that can't be repeated here.
Row bench_step(const ArgumentSource& source, const BenchOptions& options);

// The same with what count_instructions() returns in place of what bench() does.
Row count_call_instructions(const ArgumentSource& source, const std::string& op, size_t call, uint64_t seed,
                            InstructionCounter& counter);
Row count_step_instructions(const ArgumentSource& source, uint64_t seed, InstructionCounter& counter);

}  // namespace flagos::diag
