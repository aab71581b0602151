// The program that perf/instructions.py runs under callgrind: one call on one arm, counted over warm repetitions.
//   instructions CALL native|on|off REPETITIONS
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>
#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "flagos/flagos.h"
#include "workload.h"

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: instructions CALL native|on|off REPETITIONS\n");
    return 2;
  }
  const std::string name = argv[1];
  const std::string arm = argv[2];
  const int repetitions = std::atoi(argv[3]);
  flagos::init();
  at::set_num_threads(1);
  const at::Device ours(at::kPrivateUse1, 0);
  const c10::InferenceMode inference;
  const flagos::RedispatchGuard guard(arm != "off");
  for (const auto& call : flagos::perf::calls(arm == "native" ? flagos::to_target_device(ours) : ours)) {
    if (call.name != name) {
      continue;
    }
    for (int i = 0; i < 100; ++i) {
      call.run();
    }
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    for (int i = 0; i < repetitions; ++i) {
      call.run();
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    return 0;
  }
  std::fprintf(stderr, "instructions: no call is named %s\n", name.c_str());
  return 2;
}
