// Whole calls: native, flagos with the fast path on, and off. Compare within one run; interleave with
// --benchmark_enable_random_interleaving=true --benchmark_repetitions=20.
#include <benchmark/benchmark.h>

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include "flagos/flagos.h"
#include "workload.h"

namespace {

using flagos::perf::Call;

void run(benchmark::State& state, const Call& call, bool on) {
  const c10::InferenceMode inference;
  const flagos::RedispatchGuard guard(on);
  for (auto _ : state) {
    call.run();
  }
}

void add(const char* arm, at::Device device, bool on) {
  for (const Call& call : flagos::perf::calls(device)) {
    benchmark::RegisterBenchmark((call.name + "/" + arm).c_str(),
                                 [call, on](benchmark::State& state) { run(state, call, on); });
  }
}

}  // namespace

int main(int argc, char** argv) {
  flagos::init();
  at::set_num_threads(1);
  const at::Device ours(at::kPrivateUse1, 0);
  const c10::InferenceMode inference;
  add("native", flagos::to_target_device(ours), true);
  add("on", ours, true);
  add("off", ours, false);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
