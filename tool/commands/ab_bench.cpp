#include "commands/ab_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "cli/interrupt.h"
#include "cli/number_checks.h"
#include "cli/operator_names.h"
#include "commands/baseline.h"
#include "commands/bench_summary.h"
#include "commands/counted_instructions.h"
#include "commands/measured_cases.h"
#include "flagos/flagos.h"
#include "measure/bench.h"
#include "measure/conditions.h"
#include "measure/fail_on.h"
#include "measure/recorded_bench.h"
#include "measure/verdict.h"
#include "report/environment.h"
#include "report/foreign_text.h"
#include "traces/workloads.h"

namespace flagos::diag {
namespace {

constexpr size_t kCallsOfOperator = 3;  // that are measured unless one is chosen
constexpr double kPercent = 100;
constexpr double kMostPlanted = 1000;  // percent
constexpr uint64_t kMostThreads = 1024;
constexpr const char* kStepName = "(step)";

// "on=3%"
std::pair<std::string, double> parse_plant(const std::string& text) {
  const size_t equals = text.find('=');
  char* end = nullptr;
  const double percent = equals == std::string::npos ? 0 : std::strtod(text.c_str() + equals + 1, &end);
  const std::string arm = text.substr(0, equals);
  const auto arms = make_arms({});
  const bool known =
      std::any_of(arms.begin(), arms.end(), [&](const Arm& each) { return each.name == arm && arm != "aa"; });
  const bool sound = percent > 0 && percent <= kMostPlanted;  // not so of NaN
  if (!known || !sound || end == nullptr || std::string_view(end) != "%") {
    throw UsageError(fmt::format("--plant '{}': the form is 'on=3%', up to {:.0f}%; arms are native, off and on.",
                                 foreign_text(text), kMostPlanted));
  }
  return {arm, percent / kPercent};
}

}  // namespace

CLI::App* AbBench::add_to(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("ab-bench", "What the fast path gains, and what a call costs over the native one");
  auto* trace = choice_.add_operators(*command, "The first recorded call of every operator");
  command->add_option("--workload", workload_, fmt::format("A bundled trace of a model: {}", workload_names_text()))
      ->check(CLI::IsMember(workload_names()))
      ->excludes(trace);
  choice_.add_call(*command);
  command
      ->add_option("--time-budget", budget_s_,
                   "Seconds to measure for [10 a case, 300 at most, more for over 1000 cases]")
      ->check(positive_number());
  command->add_option("--threshold", threshold_percent_, "SAME: within this many percent [1]")
      ->check(positive_number());
  command->add_option("--threads", threads_, "Threads of an operator on the CPU [1]")
      ->check(whole_number(1, kMostThreads));
  command->add_option("--fail-on", fail_on_, "Exit 1 on such a row: 'slower>2%', 'on/baseline:slower>5%'");
  auto* baseline = command->add_option("--baseline", baseline_file_, "Compare with an earlier run: its JSON document")
                       ->type_name("FILE");
  command->add_flag("--force", force_, "Compare even when torch, target, machine or build differ")->needs(baseline);
  auto* instructions =
      command->add_flag("--instructions", instructions_, "Count the instructions of a call on each arm, too");
  command->add_option("--instructions-by", instructions_by_, "How: the processor's counter or valgrind [auto]")
      ->check(CLI::IsMember({"auto", "perf", "callgrind"}))
      ->needs(instructions);
  command->add_option("--plant", plants_, "Slow an arm, to see what would be found: 'on=3%'");
  command->add_flag("--same-arms", same_, "Make off the same as on, to see what is claimed of noise");
  return command;
}

std::string AbBench::trace_file() const {
  return workload_.empty() ? choice_.trace() : find_workload(workload_).string();
}

ArgumentSource AbBench::source() const {
  const std::string file = trace_file();
  return file.empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(file);
}

std::vector<std::string> AbBench::selected_operators(const ArgumentSource& source) const {
  return choice_.operators([&] { return source.operators(); },
                           "ab-bench: name operators, or pass --all, --trace FILE or --workload NAME.",
                           !workload_.empty());
}

std::deque<Job> AbBench::jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const {
  std::deque<Job> jobs;
  const bool recorded_model = !trace_file().empty();
  if (recorded_model && !choice_.named()) {
    jobs.push_back({kStepName, {kStep}, "bench"});
  }
  const size_t most = choice_.all() ? 1 : recorded_model ? std::numeric_limits<size_t>::max() : kCallsOfOperator;
  for (const auto& op : ops) {
    const CallRange range = choice_.calls(source.calls(op).size(), most);
    Job job{op, {}, "bench"};
    for (size_t call = range.first; call < range.end; ++call) {
      job.situations.push_back(std::to_string(call));
    }
    if (!job.situations.empty()) {
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

Row AbBench::settings(double case_budget_s, uint64_t seed) const {
  BenchOptions options;
  options.seed = seed;
  options.threshold = threshold_percent_ / kPercent;
  options.budget_s = case_budget_s;
  options.arms.same = same_;
  for (const auto& plant : plants_) {
    const auto [arm, slowdown] = parse_plant(plant);
    if (!options.arms.slowdown.emplace(arm, slowdown).second) {
      throw UsageError(fmt::format("--plant: there are two for {}; give one.", arm));
    }
  }
  Row row = to_row(options);
  row["threads"] = threads_;
  return row;
}

WorkerCommand AbBench::worker_command(const GlobalOptions& options) const {
  return {{"/proc/self/exe"}, options.seed, trace_file(), options.verbose};
}

ExitCode AbBench::exit_code(const std::vector<Row>& rows) const {
  bool conclusive = false;
  const std::optional<FailOn> fail_on = this->fail_on();
  for (const Row& row : rows) {
    if (fail_on.has_value() && Baseline::fails(row, *fail_on)) {
      return ExitCode::kFinding;
    }
    if (row.at("against").is_null()) {
      continue;
    }
    const auto verdict = row.at("verdict").get<std::string>();
    conclusive |= verdict != claim_name(Claim::kInconclusive) && row.at("arm") != "aa";
    if (fail_on.has_value() && fail_on->met_by(row.at("arm").get<std::string>(), row.at("against").get<std::string>(),
                                               verdict, row.at("ratio").get<double>())) {
      return ExitCode::kFinding;
    }
  }
  return conclusive ? ExitCode::kAsHoped : ExitCode::kInconclusive;
}

std::optional<FailOn> AbBench::fail_on() const {
  if (fail_on_.empty()) {
    return std::nullopt;
  }
  const FailOn parsed = FailOn::parse(fail_on_);
  if (parsed.against == kBaseline && baseline_file_.empty()) {
    throw UsageError(fmt::format("--fail-on '{}': there is no baseline; name one with --baseline FILE.", fail_on_));
  }
  return parsed;
}

// What is wrong with the options is told before minutes are spent.
Outcome AbBench::run(const GlobalOptions& options) {
  fail_on();
  std::optional<Baseline> baseline;
  if (!baseline_file_.empty()) {
    baseline.emplace(baseline_file_, describe_environment(options.seed), force_);
  }
  if (instructions_ && threads_ > 1) {
    throw UsageError("--instructions: they are counted on one thread; leave out --threads.");
  }
  const auto counting = instructions_ ? choose_counting(instructions_by_) : CountingMethod::kPerf;
  const ArgumentSource recorded = source();
  const auto ops = selected_operators(recorded);
  const auto start = std::chrono::steady_clock::now();
  const auto warnings = doubtful_conditions();
  const std::deque<Job> jobs = jobs_for(ops, recorded);
  settings(0, options.seed);  // a --plant that is no good is told before anything runs
  const auto [cases, not_reached] =
      measure_cases(jobs, worker_command(options), budget_s_, options.quiet,
                    [&](double case_budget_s) { return settings(case_budget_s, options.seed); });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  JudgedCases judged = judge(cases, threshold_percent_ / kPercent);
  Outcome outcome;
  outcome.warnings = recorded.warnings();
  Report& report = outcome.report;
  report.command = "ab-bench";
  report.fields.assign(std::begin(kBenchFields), std::end(kBenchFields));
  report.table_fields = {"op",    "case",         "arm",           "against", "ns_median",
                         "ratio", "ratio_ci_low", "ratio_ci_high", "verdict"};
  report.summary = bench_summary(cases, judged, ops, recorded, not_reached);
  report.summary["warnings"] = warnings;
  report.summary["seconds"] = std::round(elapsed.count() * 10) / 10;
  report.rows = std::move(judged.rows);
  for (const auto& warning : warnings) {
    report.notes.push_back("warning: " + warning);
  }
  if (not_reached.cases != 0) {
    report.notes.push_back(not_reached_text(not_reached, count_cases(jobs)));
  }
  if (instructions_ && !interrupted()) {
    add_instructions(report, count_instructions(jobs, counting, worker_command(options), options.quiet), counting);
  }
  if (baseline.has_value()) {
    baseline->compare_with(report);
    outcome.warnings.insert(outcome.warnings.end(), baseline->warnings().begin(), baseline->warnings().end());
  }
  outcome.code = exit_code(report.rows);
  if (!not_reached.stopped.empty() && not_reached.cases != 0) {
    outcome.warnings.push_back(not_reached_text(not_reached, count_cases(jobs)));
    outcome.code = outcome.code == ExitCode::kAsHoped ? ExitCode::kInconclusive : outcome.code;
  }
  return outcome;
}

}  // namespace flagos::diag
