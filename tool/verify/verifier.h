// Verifier: one recorded call in one variant, run natively, ON and OFF; a case of verify.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cuda/kernel_recorder.h"
#include "report/report.h"
#include "traces/argument_source.h"
#include "verify/case_rows.h"
#include "verify/comparison.h"
#include "verify/variants.h"

namespace flagos::diag {

// Note [Arms]
// native, native_again: the same call with tensors of the target, without a flagos tensor; between the two, memory of
//   the size of the results is filled with other bytes and freed, so that what is read uninitialised shows itself.
// on, off: with flagos tensors, the fast path allowed and not.
// on_arrival, off_arrival: for a variant that PyTorch deals with above the kernels of a device, so that on and off
// never
//   see it: the operator redispatched to PrivateUse1 below autograd, as a kernel does that redispatches past those
//   keys. There full dispatch, off, is what is right: native calls have no such entry.
// With a KernelRecorder, what each arm launches is compared too. What native launches is what it launches twice
// running: its first call may set up a library. When that differs again, nothing is said of the case's kernels.
// When an arm differs, each runs more often: Note [Operators that differ from themselves] in verify/repeated_runs.h.
// The random generators are seeded before each arm. on and off are each compared with native, and with each other when
// one differs from it.

// The fields of a row, in order.
// With --kernels there are also kernels_equal and kernels.
inline constexpr const char* kVerifyFields[] = {"op",           "case",       "call",   "arm_a",     "arm_b", "equal",
                                                "max_abs_diff", "first_diff", "reason", "reproduce", "shrunk"};

// Separates what differs, in a reason, from what further runs of the arms showed.
inline constexpr const char* kFactsBegin = "; of further runs: ";

class Verifier {
 public:
  // Called with the name of an arm before it runs.
  using OnArm = std::function<void(const char* arm)>;

  // `op` is "aten::add.Tensor". `recorder` must outlive the verifier; without one no kernels are compared.
  Verifier(const std::string& op, uint64_t seed, OnArm on_arm, KernelRecorder* recorder = nullptr);

  // {"end": name, "why": text, "rows": [...]}: a row for each pair of arms that was compared; with a recorder also
  // "kernels", see kernel_verdict(). Never throws for what the operator does, a crash is the caller's to isolate;
  // CuptiError when kernels can't be recorded any more.
  Row verify(const CallRecord& call, Variant variant, Data data = Data::kNoise);

 private:
  struct Arm;
  struct Ran;
  struct Pair;
  struct Further;

  CallOutcome run(const Arm& arm, const Stack& host, Variant variant) const;
  // Makes the call, and records what it launches.
  std::optional<KernelSequence> run_call(const Arm& arm, Stack& stack, Variant variant) const;
  // Runs the native arm again, on memory that was used otherwise in between.
  CallOutcome native_again(const CallOutcome& native, const Stack& host, Variant variant) const;
  // Whether two native runs in succession launch the same; native's kernels become those.
  bool settle_kernels(CallOutcome& native, const CallOutcome& again, const Stack& host, Variant variant) const;
  // All arms, of which `native` comes first.
  std::vector<Ran> run_arms(Ran native, const Stack& host, Variant variant) const;
  std::vector<Pair> compare_arms(const std::vector<Ran>& arms) const;
  static std::vector<Row> rows_of(const std::vector<Ran>& arms, const std::vector<Pair>& pairs);
  Row verify_arguments(const Stack& host, Variant variant) const;
  Further run_further(const std::vector<Ran>& arms, const Stack& host, Variant variant) const;
  Row mismatch(std::vector<Ran> arms, std::vector<Pair> pairs, const Stack& host, Variant variant) const;
  std::string alert(const Stack& host, Variant variant) const;

  std::string op_;
  c10::OperatorHandle handle_;
  uint64_t seed_;
  OnArm on_arm_;
  KernelRecorder* recorder_;
  Contents contents_;
};

}  // namespace flagos::diag
