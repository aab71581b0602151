// Verifier: one recorded call in one variant, run natively, ON and OFF; a case of verify.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "traces/argument_source.h"
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
// When an arm differs, each runs more often: Note [Operators that differ from themselves] in verify/repeated_runs.h.
// The random generators are seeded before each arm. on and off are each compared with native, and with each other when
// one differs from it.

// The fields of a row, in order.
inline constexpr const char* kVerifyFields[] = {"op",           "case",       "call",   "arm_a",     "arm_b", "equal",
                                                "max_abs_diff", "first_diff", "reason", "reproduce", "shrunk"};

// Separates what differs, in a reason, from what further runs of the arms showed.
inline constexpr const char* kFactsBegin = "; of further runs: ";

// How a case ended. The names are those in the summary.
enum class CaseEnd {
  kEqual,
  kDifferent,
  kNondeterministic,  // runs of one arm differ from each other
  kRefused,           // all arms throw the same
  kNotApplicable,     // the variant makes no sense for this call, or its arguments can't be made
};
const char* case_end_name(CaseEnd end) noexcept;

// The row of a case that can't run, with why.
Row not_applicable_row(const std::string& why);

class Verifier {
 public:
  // Called with the name of an arm before it runs.
  using OnArm = std::function<void(const char* arm)>;

  // `op` is "aten::add.Tensor".
  Verifier(const std::string& op, uint64_t seed, OnArm on_arm);

  // {"end": name, "why": text, "rows": [...]}: a row for each pair of arms that was compared. Never throws for what the
  // operator does; a crash is the caller's to isolate.
  Row verify(const CallRecord& call, Variant variant, Data data = Data::kNoise);

 private:
  struct Arm;
  struct Ran;

  Stack host_arguments(const CallRecord& call, Variant variant, Data data) const;
  CallOutcome run(const Arm& arm, const Stack& host, Variant variant) const;
  // Runs the native arm again, on memory that was used otherwise in between.
  std::optional<Difference> native_unlike_itself(const CallOutcome& native, const Stack& host, Variant variant,
                                                 int pattern, int blocks) const;
  Row verify_arguments(const Stack& host, Variant variant) const;
  Row mismatch(const std::vector<Ran>& arms, const Stack& host, Variant variant, std::vector<Row> rows,
               bool rounding) const;
  std::string alert(const Stack& host, Variant variant) const;

  std::string op_;
  c10::OperatorHandle handle_;
  uint64_t seed_;
  OnArm on_arm_;
  Contents contents_;
};

}  // namespace flagos::diag
