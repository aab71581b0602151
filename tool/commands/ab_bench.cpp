#include "commands/ab_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "cli/operator_names.h"
#include "flagos/flagos.h"
#include "measure/bench.h"
#include "measure/conditions.h"
#include "measure/fail_on.h"
#include "measure/recorded_bench.h"
#include "measure/verdict.h"
#include "report/progress.h"
#include "traces/workloads.h"

namespace flagos::diag {
namespace {

constexpr double kBudgetOfCase = 10;  // seconds
constexpr double kBudgetOfRun = 300;
constexpr size_t kCallsOfOperator = 3;  // that are measured unless one is chosen
constexpr double kPatienceFactor = 4;
constexpr double kPatienceBesides = 120;  // to load the worker and to make the arguments
constexpr double kPercent = 100;
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
  if (!known || percent <= 0 || end == nullptr || std::string_view(end) != "%") {
    throw UsageError(fmt::format("--plant '{}': the form is 'on=3%'; arms are native, off and on.", text));
  }
  return {arm, percent / kPercent};
}

Row counts_of_verdicts(const std::vector<Row>& rows) {
  Row counts = Row::object();
  for (const ArmPair& pair : kArmPairs) {
    Row of_pair = Row::object();
    for (const Claim claim : {Claim::kFaster, Claim::kSlower, Claim::kSame, Claim::kInconclusive}) {
      of_pair[claim_name(claim)] = std::count_if(rows.begin(), rows.end(), [&](const Row& row) {
        return row.at("arm") == pair.arm && row.at("against") == pair.against && row.at("verdict") == claim_name(claim);
      });
    }
    counts[fmt::format("{}/{}", pair.arm, pair.against)] = of_pair;
  }
  return counts;
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
  command->add_option("--time-budget", budget_s_, "Seconds to measure for [10 a case, 300 at most]")
      ->check(CLI::PositiveNumber);
  command->add_option("--threshold", threshold_percent_, "SAME: within this many percent [1]")
      ->check(CLI::PositiveNumber);
  command->add_option("--threads", threads_, "Threads of an operator on the CPU [1]")->check(CLI::PositiveNumber);
  command->add_option("--fail-on", fail_on_, "Exit 1 on such a row: 'slower>2%', 'on/native:slower>5%'");
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

Row AbBench::settings(size_t cases, uint64_t seed) const {
  BenchOptions options;
  options.seed = seed;
  options.threshold = threshold_percent_ / kPercent;
  const auto count = static_cast<double>(std::max<size_t>(cases, 1));
  options.budget_s = (budget_s_ > 0 ? budget_s_ : std::min(kBudgetOfCase * count, kBudgetOfRun)) / count;
  options.arms.same = same_;
  for (const auto& plant : plants_) {
    options.arms.slowdown.insert(parse_plant(plant));
  }
  Row row = to_row(options);
  row["threads"] = threads_;
  return row;
}

// One worker: cases must not disturb each other. It is replaced when an operator kills it.
std::vector<BenchCase> AbBench::measure(std::deque<Job> jobs, const GlobalOptions& options) const {
  size_t count = 0;
  for (const Job& job : jobs) {
    count += job.situations.size();
  }
  const Row settings = this->settings(count, options.seed);
  for (Job& job : jobs) {
    job.settings = settings;
  }
  const auto patience = settings.at("budget_s").get<double>() * kPatienceFactor + kPatienceBesides;
  std::vector<BenchCase> cases;
  Progress progress("ab-bench", jobs.size(), options.quiet);
  const WorkerCommand command{{"/proc/self/exe"}, options.seed, trace_file(), options.verbose};
  WorkerPool(command, 1, std::chrono::seconds(static_cast<int64_t>(patience)))
      .run(
          std::move(jobs),
          [&](const std::string& op, Row row) {
            const auto item = row.at("situation").get<std::string>();
            const size_t call = item == kStep ? 0 : std::stoul(item);
            cases.push_back({std::string(without_aten(op)), call, std::move(row)});
          },
          [&](const std::string& op) { progress.advance(without_aten(op)); });
  return cases;
}

Row AbBench::summarize(const std::vector<BenchCase>& cases, const JudgedCases& judged,
                       const std::vector<std::string>& ops, const ArgumentSource& source) const {
  Row summary = {{"cases", cases.size()}};
  summary["verdicts"] = counts_of_verdicts(judged.rows);
  summary["noise_floor"] = std::round(judged.noise_floor * 1e5) / 1e5;
  Row unknown = Row::object();
  for (const auto& op : ops) {
    if (source.calls(op).empty()) {
      unknown[std::string(without_aten(op))] = "no recorded arguments";
    }
  }
  Row not_measured = Row::object();
  Row left_out = Row::object();
  for (const BenchCase& each : cases) {
    if (each.measured.contains("note")) {
      not_measured[fmt::format("{} --call {}", each.op, each.call)] = each.measured.at("note");
    }
    if (each.measured.contains("left_out")) {
      left_out = each.measured.at("left_out");
    }
  }
  summary["unknown"] = unknown;
  summary["not_measured"] = not_measured;
  summary["left_out_of_step"] = left_out;
  return summary;
}

ExitCode AbBench::exit_code(const std::vector<Row>& rows) const {
  bool conclusive = false;
  std::optional<FailOn> fail_on;
  if (!fail_on_.empty()) {
    fail_on = FailOn::parse(fail_on_);
  }
  for (const Row& row : rows) {
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

Outcome AbBench::run(const GlobalOptions& options) {
  if (!fail_on_.empty()) {
    FailOn::parse(fail_on_);  // before minutes are spent
  }
  const ArgumentSource recorded = source();
  const auto ops = selected_operators(recorded);
  const auto start = std::chrono::steady_clock::now();
  const auto warnings = doubtful_conditions();
  const std::vector<BenchCase> cases = measure(jobs_for(ops, recorded), options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  JudgedCases judged = judge(cases, threshold_percent_ / kPercent);
  Outcome outcome;
  outcome.warnings = recorded.warnings();
  outcome.code = exit_code(judged.rows);
  Report& report = outcome.report;
  report.command = "ab-bench";
  report.fields.assign(std::begin(kBenchFields), std::end(kBenchFields));
  report.table_fields = {"op",    "case",         "arm",           "against", "ns_median",
                         "ratio", "ratio_ci_low", "ratio_ci_high", "verdict"};
  report.summary = summarize(cases, judged, ops, recorded);
  report.summary["warnings"] = warnings;
  report.summary["seconds"] = std::round(elapsed.count() * 10) / 10;
  report.rows = std::move(judged.rows);
  for (const auto& warning : warnings) {
    report.notes.push_back("warning: " + warning);
  }
  return outcome;
}

}  // namespace flagos::diag
