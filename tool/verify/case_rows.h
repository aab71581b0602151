// The rows of a case: what its arms left behind and launched, compared two by two.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/report.h"
#include "verify/comparison.h"

namespace flagos::diag {

// How a case ended. The names are those in the summary.
enum class CaseEnd {
  kEqual,
  kDifferent,
  kNondeterministic,  // runs of one arm differ from each other
  kRefused,           // all arms throw the same
  kCrashed,           // a native arm ended the process or lost it the device: nothing was compared
  kNotApplicable,     // the variant makes no sense for this call, or its arguments can't be made
};
const char* case_end_name(CaseEnd end) noexcept;

// An arm that ran.
struct RanArm {
  const char* name;
  const CallOutcome* outcome;
};

// The row of two arms. Where the kernels of both were recorded it also has `kernels_equal`, and `kernels`, the sequence
// of each arm by its name; `reason` then names the first that is another.
Row compared(const RanArm& a, const RanArm& b, Contents contents);
// The same when it is known how they differ.
Row compared(const RanArm& a, const RanArm& b, const std::optional<Difference>& difference);
// The row of arms that could not be compared, or whose difference is known.
Row differing(const char* arm_a, const char* arm_b, const Difference& difference);

// Whether a row of compared() is no finding.
bool is_equal(const Row& row);
bool has_other_kernels(const Row& row);

// {"end": name, "why": text or null, "rows": rows}.
Row case_row(CaseEnd end, const std::string& why, std::vector<Row> rows);

// The case of an arm that ended the process or lost it the device. A flagos arm's is a finding; a native one's, and
// that of no arm, "", says nothing about this library.
Row broken_arm_row(const std::string& arm, const std::string& why);

// The row of a case that can't run, with why.
Row not_applicable_row(const std::string& why);

// What verify --kernels counts a case as: "equal", "different"; null when no kernels were compared.
Row kernel_verdict(const std::vector<Row>& rows);

// That of a case whose native runs launch different kernels.
inline constexpr const char* kUnsteadyKernels = "nondeterministic";

// A case_row() with its "kernels": what they came to, kUnsteadyKernels unless native's are `steady`.
Row with_kernel_verdict(Row found, bool steady);

}  // namespace flagos::diag
