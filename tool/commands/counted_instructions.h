// Instructions of the cases of ab-bench, counted by a worker.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <utility>

#include "isolation/worker_pool.h"
#include "measure/instruction_counter.h"
#include "report/report.h"

namespace flagos::diag {

// The way that `wanted` names, "perf" or "callgrind"; of "auto" the first that works, perf before callgrind. Throws
// UsageError that says for each why it doesn't, and what to do.
CountingMethod choose_counting(const std::string& wanted);

struct CountedInstructions {
  std::map<std::pair<std::string, size_t>, Row> counts;  // by operator ("add.Tensor") and call: count_instructions()
  Row not_counted = Row::object();                       // "mm --call 3": why
  double seconds = 0;                                    // that it took
};

// Counts for `jobs`, those of ab-bench, of which only the operators and calls are looked at. `ordinary` is how a worker
// of theirs is started. Stops when interrupted() is set.
CountedInstructions count_instructions(std::deque<Job> jobs, CountingMethod method, const WorkerCommand& ordinary,
                                       bool quiet);

// Adds instructions_per_call, instructions_over_native and instructions_by to the report's rows, and a summary.
void add_instructions(Report& report, const CountedInstructions& counted, CountingMethod method);

}  // namespace flagos::diag
