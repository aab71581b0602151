#include "commands/stats.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/operator_names.h"
#include "isolation/worker_pool.h"
#include "report/progress.h"

namespace flagos::diag {
namespace {

constexpr std::chrono::seconds kStatsPatience(60);  // for one call

// An item of a job is the number of a call.
std::deque<Job> jobs_for(const ArgumentSource& source) {
  std::deque<Job> jobs;
  for (const auto& op : source.operators()) {
    Job job{op, {}, "stats"};
    for (size_t call = 0; call < source.calls(op).size(); ++call) {
      job.situations.push_back(std::to_string(call));
    }
    jobs.push_back(std::move(job));
  }
  return jobs;
}

// Adds numbers; objects field by field. Null counts as an empty object.
void add(Row& to, const Row& more) {
  if (to.is_null()) {
    to = Row::object();
  }
  for (const auto& [name, value] : more.items()) {
    if (value.is_object()) {
      to[name] = to.value(name, Row::object());
      add(to[name], value);
    } else {
      to[name] = to.value(name, uint64_t{0}) + value.get<uint64_t>();
    }
  }
}

// Calls that were asked at the gate; null when none was, as for views.
Row hit_rate(const Row& counts) {
  uint64_t asked = counts.at("hits").get<uint64_t>();
  for (const auto& [reason, count] : counts.at("refused").items()) {
    asked += count.get<uint64_t>();
  }
  return asked == 0 ? Row(nullptr) : Row(counts.at("hits").get<double>() / static_cast<double>(asked));
}

// "FP-CONJ 2, FP-VMAP 1"
Row reasons_text(const Row& refused) {
  std::string text;
  for (const auto& [reason, count] : refused.items()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", reason, count.get<uint64_t>());
  }
  return text.empty() ? Row(nullptr) : Row(text);
}

uint64_t sum_of(const Row& numbers) {
  uint64_t sum = 0;
  for (const auto& [name, number] : numbers.items()) {
    sum += number.get<uint64_t>();
  }
  return sum;
}

}  // namespace

CLI::App* Stats::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("stats", "What share of a workload's calls takes the fast path");
  command->add_option("--trace", trace_, "Take the calls from this PyTorch execution trace")->type_name("FILE");
  return command;
}

Stats::Totals Stats::count(const ArgumentSource& source, const GlobalOptions& options) const {
  Totals totals;
  const auto jobs = jobs_for(source);
  for (const Job& job : jobs) {
    totals.recorded += job.situations.size();
  }
  Progress progress("stats", jobs.size(), options.quiet);
  const WorkerCommand command{{"/proc/self/exe"}, options.seed, trace_, options.verbose};
  WorkerPool(command, WorkerPool::default_size(), kStatsPatience)
      .run(
          jobs,
          [&](const std::string& op, const Row& row) {
            const std::string error = row.value("note", "");
            if (error.empty()) {
              ++totals.run;
            } else {
              totals.errors.emplace(std::string(without_aten(op)), error);
            }
            const Row counted = row.value("counts", Row::object());
            for (const auto& [name, counts] : counted.items()) {
              add(totals.counts[name], counts);
            }
          },
          [&](const std::string& op) { progress.advance(without_aten(op)); });
  return totals;
}

Outcome Stats::run(const GlobalOptions& options) {
  const auto source = trace_.empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(trace_);
  const Totals totals = count(source, options);
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "stats";
  report.fields = {"op", "calls", "hits", "refused", "hit_rate", "reasons"};
  Row all = {{"calls", 0}, {"hits", 0}, {"refused", Row::object()}};
  for (const auto& [op, counts] : totals.counts) {
    add(all, counts);
    report.rows.push_back({{"op", std::string(without_aten(op))},
                           {"calls", counts.at("calls")},
                           {"hits", counts.at("hits")},
                           {"refused", sum_of(counts.at("refused"))},
                           {"hit_rate", hit_rate(counts)},
                           {"reasons", reasons_text(counts.at("refused"))}});
  }
  report.summary = {{"recorded_calls", totals.recorded}, {"run", totals.run}};
  report.summary.update(all);
  report.summary["hit_rate"] = hit_rate(all);
  report.summary["errors"] = totals.errors;
  report.notes.emplace_back("A recorded call runs once, repeats left out, and counts for every operator it reaches.");
  outcome.warnings = source.warnings();
  outcome.code = totals.run == 0 ? ExitCode::kInconclusive : ExitCode::kAsHoped;
  return outcome;
}

}  // namespace flagos::diag
