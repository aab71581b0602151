// Baseline: an earlier run of ab-bench, which this one is compared with.
#pragma once

#include <string>
#include <vector>

#include "measure/fail_on.h"
#include "report/report.h"
#include "report/result_document.h"

namespace flagos::diag {

class Baseline {
 public:
  // Reads `file`. Throws UsageError when it is no document of ab-bench or, without `force`, when its environment is not
  // like `environment`, which is this run's.
  Baseline(const std::string& file, const Row& environment, bool force);

  // Compares as the command `compare` does. Adds "baseline" to the rows of native, off and on: their speedup over the
  // baseline and its verdict; to the summary how the rows were found; and notes.
  void compare_with(Report& report) const;

  // Those of the earlier run.
  const std::vector<std::string>& warnings() const { return before_.warnings; }

  // Whether a row that compare_with() has seen is such a regression against the baseline.
  static bool fails(const Row& row, const FailOn& fail_on);

 private:
  ResultDocument before_;
  Row environment_;
  std::vector<std::string> unlike_;
};

}  // namespace flagos::diag
