#include "commands/verify_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "cli/operator_names.h"
#include "report/result_document.h"
#include "verify/case_rows.h"
#include "verify/known_operators.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

constexpr size_t kMostCauses = 5;

void increment(Row& counts, const char* name) { counts[name] = counts[name].get<int>() + 1; }

Row counts_of(const std::vector<VerifiedCase>& cases) {
  Row counts = Row::object();
  for (const char* name : {"ops", "cases", "equal", "different", "nondeterministic", "refused_by_native",
                           "native_crashed", "not_applicable"}) {
    counts[name] = 0;
  }
  std::set<std::string> ops;
  for (const VerifiedCase& each : cases) {
    const auto end = each.found.at("end").get<std::string>();
    increment(counts, end == "refused"                          ? "refused_by_native"
                      : end == case_end_name(CaseEnd::kCrashed) ? "native_crashed"
                                                                : end.c_str());
    if (end != "not_applicable") {
      increment(counts, "cases");
      ops.insert(each.op);
    }
  }
  counts["ops"] = ops.size();
  return counts;
}

bool are(const Row& row, const char* a, const char* b) { return row.at("arm_a") == a && row.at("arm_b") == b; }

// Whether the arms with the fast path and without it left the same behind; nothing where that was not seen.
std::optional<bool> on_is_off(const Row& found, double& max_abs_diff) {
  if (found.at("end") == case_end_name(CaseEnd::kEqual) || found.at("end") == case_end_name(CaseEnd::kRefused)) {
    return true;
  }
  if (found.at("end") != case_end_name(CaseEnd::kDifferent)) {
    return std::nullopt;
  }
  std::optional<bool> same;
  for (const Row& row : found.at("rows")) {
    if (are(row, "on", "off") || are(row, "off_arrival", "on_arrival")) {
      same = same.value_or(true) && row.at("equal") == true;
      const auto apart = row.find("max_abs_diff");
      if (apart != row.end() && apart->is_number()) {
        max_abs_diff = std::max(max_abs_diff, apart->get<double>());
      }
    }
  }
  return same;
}

Row on_against_off(const std::vector<VerifiedCase>& cases) {
  Row counts = {{"same", 0}, {"different", 0}, {"not_compared", 0}};
  double max_abs_diff = 0;
  for (const VerifiedCase& each : cases) {
    if (each.found.at("end") != case_end_name(CaseEnd::kNotApplicable)) {
      const auto same = on_is_off(each.found, max_abs_diff);
      increment(counts, !same.has_value() ? "not_compared" : *same ? "same" : "different");
    }
  }
  counts["max_abs_diff"] = max_abs_diff;
  return counts;
}

}  // namespace

Row summarize_cases(const std::vector<VerifiedCase>& cases, const std::vector<std::string>& ops,
                    const ArgumentSource& source) {
  Row summary = counts_of(cases);
  summary["on_against_off"] = on_against_off(cases);
  Row unknown = Row::object();
  Row ignored = Row::object();
  std::set<std::string> ran;
  for (const VerifiedCase& each : cases) {
    ran.insert(each.op);
  }
  for (const auto& op : ops) {
    const std::string name(without_aten(op));
    if (source.calls(op).empty() && !ran.contains(op)) {
      unknown[name] = "no recorded arguments";
    } else if (const char* why = why_contents_ignored(op)) {
      ignored[name] = why;
    }
  }
  Row crashes = Row::object();
  for (const VerifiedCase& each : cases) {
    if (each.found.at("end") == case_end_name(CaseEnd::kCrashed)) {
      crashes[each.found.at("reproduce").get<std::string>()] = each.found.at("why");
    }
  }
  summary["unknown"] = unknown;
  summary["contents_not_compared"] = ignored;
  summary["native_crashes"] = crashes;
  return summary;
}

Row count_kernels(const std::vector<VerifiedCase>& cases) {
  Row counts = {{"compared", 0}, {"equal", 0}, {"different", 0}, {kUnsteadyKernels, 0}};
  for (const VerifiedCase& each : cases) {
    const std::string verdict = text_field(each.found, "kernels");
    if (!verdict.empty()) {
      increment(counts, verdict.c_str());
      increment(counts, "compared");
    }
  }
  return counts;
}

std::vector<std::string> why_nothing_ran(const std::vector<VerifiedCase>& cases, const Row& summary) {
  if (summary.at("cases") != 0) {
    return {};
  }
  std::map<std::string, size_t> causes;
  for (const VerifiedCase& each : cases) {
    ++causes[text_field(each.found, "why")];
  }
  std::vector<std::string> notes;
  for (const auto& [why, count] : causes) {
    if (notes.size() < kMostCauses) {
      notes.push_back(fmt::format("Nothing ran: {} case{}: {}.", count, count == 1 ? "" : "s", why));
    }
  }
  if (const size_t unknown = summary.at("unknown").size(); unknown != 0) {
    notes.push_back(
        fmt::format("Nothing ran: {} operator{} without recorded arguments; pass --trace FILE or --args JSON.", unknown,
                    unknown == 1 ? "" : "s"));
  }
  return notes;
}

ExitCode verify_exit_code(const Row& summary) {
  if (summary.at("different") != 0) {
    return ExitCode::kFinding;
  }
  return summary.at("cases") == 0 ? ExitCode::kInconclusive : ExitCode::kAsHoped;
}

}  // namespace flagos::diag
