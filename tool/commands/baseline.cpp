#include "commands/baseline.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <tuple>

#include "cli/exit_code.h"
#include "report/compared_runs.h"
#include "report/compared_times.h"
#include "report/foreign_text.h"

namespace flagos::diag {
namespace {

using ArmKey = std::tuple<std::string, Row, Row, std::string>;

ArmKey key_of(const Row& row) {
  return {text_field(row, "op"), row.value("case", Row(nullptr)), row.value("call", Row(nullptr)),
          text_field(row, "arm")};
}

Row without_key(const Row& compared) {
  Row row = Row::object();
  for (const char* field :
       {"ns_old", "speedup", "speedup_ci_low", "speedup_ci_high", "p_adjusted", "verdict", "note"}) {
    row[field] = compared.at(field);
  }
  return row;
}

}  // namespace

Baseline::Baseline(const std::string& file, const Row& environment, bool force)
    : before_(read_document(file)), environment_(environment) {
  if (before_.command != "ab-bench") {
    throw UsageError(
        fmt::format("--baseline {}: a document of {}; write one with 'ab-bench --format json --output FILE'.", file,
                    foreign_text(before_.command)));
  }
  unlike_ = environment_differences(before_.environment, environment_);
  if (!force) {
    require_like(unlike_, fmt::format("--baseline {}", file));
  }
}

void Baseline::compare_with(Report& report) const {
  const ResultDocument after{"this run", report.command, environment_, report.summary, report.rows, {}};
  const ComparedRuns compared = compare_times(before_, after);
  std::map<ArmKey, Row> by_arm;
  for (const Row& row : compared.rows) {
    by_arm.emplace(key_of(row), without_key(row));
  }
  for (Row& row : report.rows) {
    const auto found = by_arm.find(key_of(row));
    row[kBaseline] = found != by_arm.end() ? found->second : Row(nullptr);
  }
  report.fields.insert(report.fields.end(), {"baseline.speedup", "baseline.verdict"});
  report.table_fields.insert(report.table_fields.end(), {"baseline.speedup", "baseline.verdict"});
  Row summary = {{"file", before_.file.string()}, {"unlike", unlike_}};
  summary.update(compared.summary);
  report.summary[kBaseline] = summary;
  report.notes.insert(report.notes.end(), compared.notes.begin(), compared.notes.end());
  if (!unlike_.empty()) {
    report.notes.push_back(
        fmt::format("The environments of baseline and this run differ: {}.", fmt::join(unlike_, ", ")));
  }
}

bool Baseline::fails(const Row& row, const FailOn& fail_on) {
  const auto found = row.find(kBaseline);
  if (found == row.end() || !found->is_object()) {
    return false;
  }
  const auto speedup = number_field(*found, "speedup");
  return speedup.has_value() &&
         fail_on.met_by(text_field(row, "arm"), kBaseline, text_field(*found, "verdict"), 1 / *speedup);
}

}  // namespace flagos::diag
