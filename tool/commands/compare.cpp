#include "commands/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/compared_runs.h"
#include "report/result_document.h"

namespace flagos::diag {

CLI::App* Compare::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("compare", "What changed between two runs: faster, slower, newly different");
  command->add_option("OLD", old_file_, "JSON document of ab-bench, check-op or verify")->required()->type_name("FILE");
  command->add_option("NEW", new_file_, "A later one of the same command")->required()->type_name("FILE");
  command->add_flag("--force", force_, "Compare even when torch, target, devices, CPU or compiler differ");
  return command;
}

Outcome Compare::run(const GlobalOptions& /*options*/) {
  const ResultDocument before = read_document(old_file_);
  const ResultDocument after = read_document(new_file_);
  ComparedRuns compared = compare_runs(before, after);
  const auto unlike = environment_differences(before.environment, after.environment);
  if (!force_) {
    require_like(unlike, "compare");
  }
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "compare";
  report.fields = std::move(compared.fields);
  report.line_fields = {"reproduce"};
  report.rows = std::move(compared.rows);
  report.summary = {{"compared_command", after.command}, {"old", old_file_}, {"new", new_file_}};
  report.summary.update(compared.summary);
  report.summary["unlike"] = unlike;
  report.notes = std::move(compared.notes);
  if (!unlike.empty()) {
    report.notes.push_back(fmt::format("The environments differ: {}.", fmt::join(unlike, ", ")));
  }
  for (const ResultDocument* document : {&before, &after}) {
    outcome.warnings.insert(outcome.warnings.end(), document->warnings.begin(), document->warnings.end());
  }
  outcome.code = compared.findings != 0     ? ExitCode::kFinding
                 : compared.comparable == 0 ? ExitCode::kInconclusive
                                            : ExitCode::kAsHoped;
  return outcome;
}

}  // namespace flagos::diag
