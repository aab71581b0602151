// The cases of ab-bench, measured one after the other as long as time, workers and the user allow.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <vector>

#include "commands/bench_summary.h"
#include "isolation/worker_pool.h"
#include "measure/bench_rows.h"
#include "report/report.h"

namespace flagos::diag {

struct MeasuredCases {
  std::vector<BenchCase> cases;  // those that were not reached come last, unless by Ctrl-C
  NotReached not_reached;
};

size_t count_cases(const std::deque<Job>& jobs);

// Runs `jobs`, of kind "bench", within `budget_s` seconds (0: see TimeShare), in one worker: cases must not disturb
// each other. It is replaced when an operator kills it. `settings` makes those of a job whose cases get so many seconds
// each. Throws std::runtime_error when no worker can be started, unless there are cases by then.
MeasuredCases measure_cases(std::deque<Job> jobs, const WorkerCommand& command, double budget_s, bool quiet,
                            const std::function<Row(double case_budget_s)>& settings);

}  // namespace flagos::diag
