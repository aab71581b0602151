// Bench: one case of ab-bench, all arms in balanced blocks until the ratios are known well enough.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "measure/arm.h"
#include "measure/call_sequence.h"
#include "report/report.h"

namespace flagos::diag {

struct BenchOptions {
  ArmOptions arms;
  double budget_s = 10;     // for the case; a block that has begun is finished
  double threshold = 0.01;  // intervals of ratios narrower than half of it end the case early
  uint64_t seed = 0;
};

// As a request to a worker carries them.
Row to_row(const BenchOptions& options);
BenchOptions bench_options(const Row& row);

// What was measured, without a verdict, which depends on the other cases:
//   {"arms": {"on": {"ns_median", "ns_ci_low", "ns_ci_high", "device_ns_median", "samples"}, ...},
//    "pairs": [{"arm", "against", "ratio", "ratio_ci_low", "ratio_ci_high", "device_ratio", "p"}, ...],
//    "blocks": 48, "runs": 120}
// Times are nanoseconds a run of `order` with the cost of handing over the arguments subtracted; device times are null
// on the CPU. "runs" counts those in a row, of one arm in a block. `calls` have been tried out. Gradients are off. Runs
// on the calling thread; throws what the operators throw.
Row bench(const std::vector<HostCall>& calls, const std::vector<size_t>& order, const BenchOptions& options);

}  // namespace flagos::diag
