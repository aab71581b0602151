#include "commands/check_op.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "cli/interrupt.h"
#include "cli/operator_names.h"
#include "commands/check_summary.h"
#include "commands/python_program.h"
#include "prediction/decision.h"
#include "report/progress.h"
#include "situations/checker.h"
#include "situations/situation.h"

namespace flagos::diag {
namespace {

constexpr std::chrono::seconds kCheckPatience(60);
constexpr const char* kPython = "python";

std::vector<std::string> situation_names() {
  std::vector<std::string> names;
  for (const Situation situation : kSituations) {
    names.emplace_back(situation_name(situation));
  }
  return names;
}

std::deque<Job> jobs_for(const std::vector<std::string>& ops, const std::vector<std::string>& situations) {
  std::deque<Job> jobs;
  for (const auto& op : ops) {
    jobs.push_back({op, situations});
  }
  return jobs;
}

// A row of a worker that died has few fields.
Row completed(const std::string& op, const Row& row) {
  Row whole = empty_check_row(op, situation_of(row.at("situation").get<std::string>()).value());
  const Row name = whole["op"];
  whole.update(row);
  whole["op"] = name;
  return whole;
}

}  // namespace

CLI::App* CheckOp::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("check-op", "Which operators take the fast path, in which situations");
  choice_.add_operators(*command, "Every operator that libflagos boxes, and those with recorded calls");
  command
      ->add_option("--situation", situations_,
                   "Only these, comma-separated: plain conj neg zerotensor functionalize "
                   "vmap grad no_grad inference autocast python off")
      ->delimiter(',')
      ->check(CLI::IsMember(situation_names()))
      ->type_name("S,...");
  command->add_flag("--explain", explain_, "Say in words what decided, where it is registered, and what to do");
  return command;
}

std::vector<std::string> CheckOp::selected_operators() const {
  const auto recorded = [this] {
    const std::string& trace = choice_.trace();
    return (trace.empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(trace)).operators();
  };
  const auto chosen = choice_.operators(recorded, "check-op: name operators, or pass --all or --trace FILE.");
  if (choice_.named() || !choice_.all()) {
    return chosen;
  }
  std::set<std::string> selected(chosen.begin(), chosen.end());
  const auto known = all_operators();
  std::copy_if(known.begin(), known.end(), std::inserter(selected, selected.end()),
               [](const std::string& op) { return kernel_kind(op) == KernelKind::kBoxed; });
  return {selected.begin(), selected.end()};
}

Outcome CheckOp::run(const GlobalOptions& options) {
  situations_ = situations_.empty() ? situation_names() : without_repeats(situations_);
  Outcome outcome;
  if (!choice_.trace().empty()) {
    // Its complaints are better heard from here than from a worker.
    outcome.warnings = ArgumentSource::from_trace(choice_.trace()).warnings();
  }
  const auto ops = selected_operators();
  const RowsByOperator rows = check(ops, options);
  Report& report = outcome.report;
  report.command = "check-op";
  report.fields.assign(std::begin(kCheckFields), std::end(kCheckFields));
  for (const auto& [op, of_op] : rows) {
    for (const auto& situation : situation_names()) {
      const auto found = of_op.find(situation);
      if (found != of_op.end()) {
        report.rows.push_back(completed(op, found->second));
      }
    }
  }
  report.summary = summarize_checks(report.rows);
  if (explain_) {
    explain_checks(report);
  }
  const bool finding = std::any_of(report.rows.begin(), report.rows.end(), [](const Row& row) {
    return row["agrees"].is_boolean() && !row["agrees"].get<bool>();
  });
  const bool known = std::any_of(report.rows.begin(), report.rows.end(),
                                 [](const Row& row) { return row["verdict"] != verdict_name(Verdict::kUnknown); });
  outcome.code = finding ? ExitCode::kFinding : known ? ExitCode::kAsHoped : ExitCode::kInconclusive;
  return outcome;
}

CheckOp::RowsByOperator CheckOp::check(const std::vector<std::string>& ops, const GlobalOptions& options) const {
  RowsByOperator rows;
  std::vector<std::string> native = situations_;
  const bool with_python = std::erase(native, kPython) != 0;
  if (!native.empty()) {
    Progress progress("check-op", ops.size(), options.quiet);
    const WorkerCommand command{{"/proc/self/exe"}, options.seed, choice_.trace(), options.verbose};
    WorkerPool(command, WorkerPool::default_size(), kCheckPatience)
        .run(
            jobs_for(ops, native),
            [&](const std::string& op, Row row) {
              const auto situation = row.at("situation").get<std::string>();
              rows[op][situation] = std::move(row);
            },
            [&](const std::string& op) { progress.advance(without_aten(op)); });
  }
  if (with_python && !interrupted()) {
    check_in_python(ops, options, rows);
  }
  return rows;
}

void CheckOp::check_in_python(const std::vector<std::string>& ops, const GlobalOptions& options,
                              RowsByOperator& rows) const {
  const PythonProgram program = find_python_program();
  if (program.command.empty()) {
    for (const auto& op : ops) {
      Row row = empty_check_row(op, Situation::kPython);
      row["note"] = program.error;
      rows[op][kPython] = std::move(row);
    }
    return;
  }
  Progress progress("check-op, in Python", ops.size(), options.quiet);
  const WorkerCommand command{program.command, options.seed, choice_.trace(), options.verbose};
  WorkerPool(command, WorkerPool::default_size(), kCheckPatience)
      .run(
          jobs_for(ops, {kPython}), [&](const std::string& op, Row row) { rows[op][kPython] = std::move(row); },
          [&](const std::string& op) { progress.advance(without_aten(op)); });
}

}  // namespace flagos::diag
