#include "verify/case_rows.h"

#include <algorithm>
#include <utility>

namespace flagos::diag {
namespace {

Row arms_row(const char* arm_a, const char* arm_b, const std::optional<Difference>& difference) {
  Row row = {{"arm_a", arm_a},          {"arm_b", arm_b},        {"equal", !difference.has_value()},
             {"max_abs_diff", nullptr}, {"first_diff", nullptr}, {"reason", nullptr}};
  if (difference.has_value()) {
    row["reason"] = difference->reason;
    row["max_abs_diff"] = difference->max_abs_diff.has_value() ? Row(*difference->max_abs_diff) : Row(nullptr);
    row["first_diff"] = difference->first_diff.empty() ? Row(nullptr) : Row(difference->first_diff);
  }
  return row;
}

void add_kernels(Row& row, const RanArm& a, const RanArm& b) {
  const KernelSequence& of_a = *a.outcome->kernels;
  const KernelSequence& of_b = *b.outcome->kernels;
  const auto other = first_other_kernel(of_a, of_b);
  row["kernels_equal"] = !other.has_value();
  row["kernels"] = {{a.name, of_a}, {b.name, of_b}};
  if (other.has_value()) {
    row["reason"] = row["reason"].is_null() ? *other : row["reason"].get<std::string>() + "; " + *other;
  }
}

}  // namespace

const char* case_end_name(CaseEnd end) noexcept {
  switch (end) {
    case CaseEnd::kEqual:
      return "equal";
    case CaseEnd::kDifferent:
      return "different";
    case CaseEnd::kNondeterministic:
      return "nondeterministic";
    case CaseEnd::kRefused:
      return "refused";
    case CaseEnd::kCrashed:
      return "crashed";
    case CaseEnd::kNotApplicable:
      return "not_applicable";
  }
  return "";
}

Row compared(const RanArm& a, const RanArm& b, Contents contents) {
  return compared(a, b, compare_outcomes(*a.outcome, *b.outcome, contents));
}

Row compared(const RanArm& a, const RanArm& b, const std::optional<Difference>& difference) {
  Row row = arms_row(a.name, b.name, difference);
  if (a.outcome->kernels.has_value() && b.outcome->kernels.has_value()) {
    add_kernels(row, a, b);
  }
  return row;
}

Row differing(const char* arm_a, const char* arm_b, const Difference& difference) {
  return arms_row(arm_a, arm_b, difference);
}

bool has_other_kernels(const Row& row) { return row.contains("kernels_equal") && row.at("kernels_equal") == false; }

bool is_equal(const Row& row) { return row.at("equal") == true && !has_other_kernels(row); }

Row case_row(CaseEnd end, const std::string& why, std::vector<Row> rows) {
  return {{"end", case_end_name(end)}, {"why", why.empty() ? Row(nullptr) : Row(why)}, {"rows", std::move(rows)}};
}

Row broken_arm_row(const std::string& arm, const std::string& why) {
  if (arm.starts_with("native") || arm.empty()) {
    return case_row(CaseEnd::kCrashed, (arm.empty() ? "no" : arm) + " arm: " + why, {});
  }
  return case_row(CaseEnd::kDifferent, why, {differing("native", arm.c_str(), Difference{why, {}, ""})});
}

Row not_applicable_row(const std::string& why) { return case_row(CaseEnd::kNotApplicable, why, {}); }

Row kernel_verdict(const std::vector<Row>& rows) {
  if (std::any_of(rows.begin(), rows.end(), has_other_kernels)) {
    return "different";
  }
  const bool compared = std::any_of(rows.begin(), rows.end(), [](const Row& row) { return row.contains("kernels"); });
  return compared ? Row("equal") : Row(nullptr);
}

Row with_kernel_verdict(Row found, bool steady) {
  found["kernels"] = steady ? kernel_verdict(found.at("rows").get<std::vector<Row>>()) : Row(kUnsteadyKernels);
  return found;
}

}  // namespace flagos::diag
