// The summary of ab-bench.
#pragma once

#include <string>
#include <vector>

#include "measure/bench_rows.h"
#include "report/report.h"
#include "traces/argument_source.h"

namespace flagos::diag {

// What was left out: for want of time, see Note [Time of a run], by Ctrl-C, or for want of workers.
struct NotReached {
  size_t cases = 0;
  std::string first;  // "mm --call 3"; empty: all were reached
  double budget_s = 0;
  double enough_s = 0;       // a budget that would reach all, by how long the others took
  bool interrupted = false;  // by Ctrl-C, not by the budget
  std::string stopped;       // why workers could not be started any more; empty: they could
};

// In words, for a note or a row; empty when all were reached.
std::string not_reached_text(const NotReached& not_reached, size_t cases);

Row bench_summary(const std::vector<BenchCase>& cases, const JudgedCases& judged, const std::vector<std::string>& ops,
                  const ArgumentSource& source, const NotReached& not_reached);

}  // namespace flagos::diag
