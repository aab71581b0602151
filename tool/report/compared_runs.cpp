#include "report/compared_runs.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "cli/exit_code.h"
#include "report/compared_times.h"
#include "report/foreign_text.h"
#include "report/matched_rows.h"

namespace flagos::diag {
namespace {

constexpr size_t kShownOfEnvironment = 200;  // bytes of a field

bool any_row(const Row& /*row*/) { return true; }

Row field_of(const Row* row, const char* name) {
  return row != nullptr && row->contains(name) ? row->at(name) : Row(nullptr);
}

void count_verdicts(ComparedRuns& compared, const std::vector<const char*>& names, const std::set<std::string>& bad) {
  Row verdicts = Row::object();
  for (const char* name : names) {
    verdicts[name] = 0;
  }
  for (const Row& row : compared.rows) {
    const auto verdict = row.at("verdict").get<std::string>();
    verdicts[verdict] = verdicts[verdict].get<size_t>() + 1;
    compared.findings += bad.contains(verdict) ? 1 : 0;
  }
  compared.summary["compared"] = compared.comparable;
  compared.summary["verdicts"] = verdicts;
}

bool is_fast(const std::string& verdict) { return verdict == "fast"; }
bool is_slow(const std::string& verdict) { return verdict == "full" || verdict == "fallback"; }
bool disagrees(const Row& row) { return field_of(&row, "agrees") == Row(false); }

// Null: nothing changed.
const char* check_change(const Row& before, const Row& after) {
  const std::string old_verdict = text_field(before, "verdict");
  const std::string new_verdict = text_field(after, "verdict");
  const bool breaks = new_verdict == "error" && old_verdict != "error";
  if (breaks || (disagrees(after) && !disagrees(before))) {
    return "BROKEN";
  }
  if (is_fast(old_verdict) && is_slow(new_verdict)) {
    return "SLOWER";
  }
  if (is_slow(old_verdict) && is_fast(new_verdict)) {
    return "FASTER";
  }
  const bool same = old_verdict == new_verdict && text_field(before, "reason") == text_field(after, "reason") &&
                    disagrees(before) == disagrees(after);
  return same ? nullptr : "CHANGED";
}

enum class CaseState { kEqual, kDifferent, kNondeterministic };

CaseState case_state(const Row* row) {
  if (row == nullptr) {
    return CaseState::kEqual;
  }
  if (field_of(row, "equal") == Row(false) || field_of(row, "kernels_equal") == Row(false)) {
    return CaseState::kDifferent;
  }
  return field_of(row, "equal") == Row(true) ? CaseState::kEqual : CaseState::kNondeterministic;
}

// Null: nothing changed, or only in what an operator that differs from itself does.
const char* case_change(const Row* before, const Row* after) {
  const CaseState was = case_state(before);
  const CaseState is = case_state(after);
  if (is == CaseState::kDifferent) {
    if (was != CaseState::kDifferent) {
      return "NEWLY_DIFFERENT";
    }
    return text_field(*before, "reason") == text_field(*after, "reason") ? nullptr : "CHANGED";
  }
  if (was == CaseState::kDifferent) {
    return is == CaseState::kEqual ? "NEWLY_EQUAL" : "CHANGED";
  }
  return nullptr;
}

Row changed_case_row(const Row* before, const Row* after, const char* change) {
  const Row* described = after != nullptr ? after : before;
  Row row;
  for (const char* field : {"op", "case", "call", "arm_a", "arm_b"}) {
    row[field] = field_of(described, field);
  }
  row["verdict"] = change;
  row["old_reason"] = field_of(before, "reason");
  row["new_reason"] = field_of(after, "reason");
  row["reproduce"] = field_of(described, "reproduce");
  return row;
}

size_t cases_of(const ResultDocument& document) {
  const auto told = document.summary.find("cases");
  return told != document.summary.end() && told->is_number_integer() && *told >= 0 ? told->get<size_t>()
                                                                                   : document.results.size();
}

}  // namespace

std::vector<std::string> environment_differences(const Row& before, const Row& after) {
  std::vector<std::string> differences;
  for (const char* field : {"torch", "target", "devices", "cpu", "cpu_threads", "compiler", "build"}) {
    const Row was = field_of(&before, field);
    const Row is = field_of(&after, field);
    const bool told = before.contains(field) && after.contains(field);
    const bool later_field = field == std::string_view("build") || field == std::string_view("cpu_threads");
    if (was != is && (told || !later_field)) {  // older documents lack some
      const auto text = [](const Row& value) {
        return foreign_text(value.is_string() ? value.get<std::string>() : value.dump(), kShownOfEnvironment);
      };
      differences.push_back(fmt::format("{} ({} against {})", field, text(was), text(is)));
    }
  }
  return differences;
}

void require_like(const std::vector<std::string>& differences, std::string_view what) {
  if (!differences.empty()) {
    throw UsageError(fmt::format(
        "{}: the runs are of unlike environments: {}. Make both in one, or pass --force to compare them all "
        "the same.",
        what, fmt::join(differences, ", ")));
  }
}

ComparedRuns compare_checks(const ResultDocument& before, const ResultDocument& after) {
  ComparedRuns compared;
  compared.fields = {"op", "situation", "verdict", "old", "new", "old_reason", "new_reason", "agrees"};
  const RowsByKey old_rows = rows_by_key(before, {"op", "situation"}, any_row);
  const RowsByKey new_rows = rows_by_key(after, {"op", "situation"}, any_row);
  note_unmatched(old_rows, new_rows, compared);
  for (const auto& [key, row] : new_rows) {
    const auto found = old_rows.find(key);
    if (found == old_rows.end()) {
      continue;
    }
    ++compared.comparable;
    if (const char* change = check_change(*found->second, *row)) {
      compared.rows.push_back({{"op", key[0]},
                               {"situation", key[1]},
                               {"verdict", change},
                               {"old", field_of(found->second, "verdict")},
                               {"new", field_of(row, "verdict")},
                               {"old_reason", field_of(found->second, "reason")},
                               {"new_reason", field_of(row, "reason")},
                               {"agrees", field_of(row, "agrees")}});
    }
  }
  count_verdicts(compared, {"SLOWER", "FASTER", "BROKEN", "CHANGED"}, {"SLOWER", "BROKEN"});
  return compared;
}

ComparedRuns compare_verifications(const ResultDocument& before, const ResultDocument& after) {
  ComparedRuns compared;
  compared.fields = {"op", "case", "call", "arm_a", "arm_b", "verdict", "old_reason", "new_reason", "reproduce"};
  const std::vector<std::string> key_fields = {"op", "case", "call", "arm_a", "arm_b"};
  const RowsByKey old_rows = rows_by_key(before, key_fields, any_row);
  const RowsByKey new_rows = rows_by_key(after, key_fields, any_row);
  RowsByKey all = old_rows;
  all.insert(new_rows.begin(), new_rows.end());
  for (const auto& [key, ignored] : all) {
    const auto was = old_rows.find(key);
    const auto is = new_rows.find(key);
    const Row* const old_row = was == old_rows.end() ? nullptr : was->second;
    const Row* const new_row = is == new_rows.end() ? nullptr : is->second;
    if (const char* change = case_change(old_row, new_row)) {
      compared.rows.push_back(changed_case_row(old_row, new_row, change));
    }
  }
  compared.comparable = std::min(cases_of(before), cases_of(after));
  count_verdicts(compared, {"NEWLY_DIFFERENT", "NEWLY_EQUAL", "CHANGED"}, {"NEWLY_DIFFERENT"});
  if (cases_of(before) != cases_of(after)) {
    compared.notes.push_back(fmt::format(
        "The old run had {} cases, the new one {}: a case that only one of them ran counts as equal in the other.",
        cases_of(before), cases_of(after)));
  }
  return compared;
}

ComparedRuns compare_runs(const ResultDocument& before, const ResultDocument& after) {
  if (before.command != after.command) {
    throw UsageError(fmt::format("compare: {} is of {}, {} of {}. Compare two runs of one command.",
                                 before.file.string(), foreign_text(before.command), after.file.string(),
                                 foreign_text(after.command)));
  }
  if (before.command == "ab-bench") {
    return compare_times(before, after);
  }
  if (before.command == "check-op") {
    return compare_checks(before, after);
  }
  if (before.command == "verify") {
    return compare_verifications(before, after);
  }
  throw UsageError(
      fmt::format("compare: {}: documents of {} can't be compared, those of ab-bench, check-op, verify can.",
                  after.file.string(), foreign_text(before.command)));
}

}  // namespace flagos::diag
