#include "commands/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>

#include "cli/exit_code.h"
#include "cli/operator_names.h"
#include "cli/shell_word.h"
#include "flagos/flagos.h"
#include "isolation/worker.h"
#include "prediction/operator_facts.h"
#include "report/environment.h"
#include "report/progress.h"
#include "report/result_document.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

constexpr std::chrono::seconds kVerifyPatience(30);  // for one arm
constexpr size_t kCallsOfAll = 2;                    // of each operator with --all, which must end within minutes
constexpr const char* kCrashed = "crashed";          // an end beside those of CaseEnd: a native arm killed the process

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const Variant variant : kVariants) {
    names.emplace_back(variant_name(variant));
  }
  return names;
}

// A worker that died while a flagos arm ran is a finding; while a native arm ran, it says nothing about this library.
Row case_of_death(const Row& death) {
  const auto arm = death.value("stage", "");
  const auto why = death.value("note", "");
  if (arm.starts_with("native") || arm.empty()) {
    return {
        {"end", kCrashed}, {"why", fmt::format("{} arm: {}", arm.empty() ? "no" : arm, why)}, {"rows", Row::array()}};
  }
  const Row row = {{"arm_a", "native"}, {"arm_b", arm}, {"equal", false}, {"reason", why}};
  return {{"end", case_end_name(CaseEnd::kDifferent)}, {"why", why}, {"rows", {row}}};
}

struct Case {
  std::string op;
  Row found;
  std::string reproduce;
};

void increment(Row& counts, const char* name) { counts[name] = counts[name].get<int>() + 1; }

Row counts_of(const std::vector<Case>& cases) {
  Row counts = Row::object();
  for (const char* name : {"ops", "cases", "equal", "different", "nondeterministic", "refused_by_native",
                           "native_crashed", "not_applicable"}) {
    counts[name] = 0;
  }
  std::set<std::string> ops;
  for (const Case& each : cases) {
    const auto end = each.found.at("end").get<std::string>();
    increment(counts, end == "refused" ? "refused_by_native" : end == kCrashed ? "native_crashed" : end.c_str());
    if (end != "not_applicable") {
      increment(counts, "cases");
      ops.insert(each.op);
    }
  }
  counts["ops"] = ops.size();
  return counts;
}

// Cases by what their kernels came to, and how many had any compared.
Row kernel_counts(const std::vector<Case>& cases) {
  Row counts = {{"compared", 0}, {"equal", 0}, {"different", 0}, {kUnsteadyKernels, 0}};
  for (const Case& each : cases) {
    const std::string verdict = text_field(each.found, "kernels");
    if (!verdict.empty()) {
      increment(counts, verdict.c_str());
      increment(counts, "compared");
    }
  }
  return counts;
}

Row summarize(const std::vector<Case>& cases, const std::vector<std::string>& ops, const ArgumentSource& source) {
  Row summary = counts_of(cases);
  Row unknown = Row::object();
  Row ignored = Row::object();
  for (const auto& op : ops) {
    const std::string name(without_aten(op));
    if (source.calls(op).empty()) {
      unknown[name] = "no recorded arguments";
    } else if (const char* why = why_contents_ignored(op)) {
      ignored[name] = why;
    }
  }
  Row crashes = Row::object();
  for (const Case& each : cases) {
    if (each.found.at("end") == kCrashed) {
      crashes[each.reproduce] = each.found.at("why");
    }
  }
  summary["unknown"] = unknown;
  summary["contents_not_compared"] = ignored;
  summary["native_crashes"] = crashes;
  return summary;
}

ExitCode exit_code(const Row& summary) {
  if (summary.at("different") != 0) {
    return ExitCode::kFinding;
  }
  return summary.at("cases") == 0 ? ExitCode::kInconclusive : ExitCode::kAsHoped;
}

}  // namespace

CLI::App* Verify::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "Are results the same with the fast path, without, and natively");
  command->add_option("OP", patterns_, "Full overload (add.Tensor), bare name (all overloads) or glob");
  command->add_flag("--all", all_, "Every operator with recorded calls, the first two calls of each");
  command->add_option("--trace", trace_, "Take operators and arguments from this PyTorch execution trace");
  command->add_option("--case", cases_, fmt::format("Only these, comma-separated: {}", fmt::join(variant_names(), " ")))
      ->delimiter(',')
      ->check(CLI::IsMember(variant_names()))
      ->type_name("CASE,...");
  command->add_flag("--kernels", kernels_, "Also compare the sequences of CUDA kernels launched (cuda target)");
  command->add_option("--call", call_, "Only the recorded call of this number, from 0")->check(CLI::NonNegativeNumber);
  return command;
}

std::vector<std::string> Verify::selected_operators(const ArgumentSource& source) const {
  if (!patterns_.empty()) {
    return select_operators(patterns_, all_operators());
  }
  if (all_ || !trace_.empty()) {
    return source.operators();
  }
  throw UsageError("verify: name operators, or pass --all or --trace FILE.");
}

// An item of a job is "CALL:CASE".
std::deque<Job> Verify::jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const {
  std::deque<Job> jobs;
  for (const auto& op : ops) {
    const size_t recorded = source.calls(op).size();
    const size_t last = call_ >= 0 ? static_cast<size_t>(call_) + 1 : all_ ? std::min(recorded, kCallsOfAll) : recorded;
    Job job{op, {}, "verify", {{"kernels", kernels_}}};
    for (size_t call = call_ >= 0 ? static_cast<size_t>(call_) : 0; call < last && recorded != 0; ++call) {
      for (const auto& name : cases_.empty() ? variant_names() : cases_) {
        job.situations.push_back(fmt::format("{}:{}", call, name));
      }
    }
    if (!job.situations.empty()) {
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

Verify::CasesByOperator Verify::verify(const std::deque<Job>& jobs, const GlobalOptions& options) const {
  CasesByOperator cases;
  Progress progress("verify", jobs.size(), options.quiet);
  const WorkerCommand command{{"/proc/self/exe"}, options.seed, trace_, options.verbose};
  // See Note [One CUPTI client].
  WorkerPool(command, kernels_ ? 1 : WorkerPool::default_size(), kVerifyPatience)
      .run(
          jobs,
          [&](const std::string& op, Row row) {
            if (row.contains("end") && row.at("end") == kNoKernels) {
              throw UsageError("verify --kernels: " + row.at("why").get<std::string>());
            }
            const auto item = row.at("situation").get<std::string>();
            Row found = row.contains("end") ? std::move(row) : case_of_death(row);
            found["call"] = std::stoi(item);
            found["case"] = item.substr(item.find(':') + 1);
            cases[op].push_back(std::move(found));
          },
          [&](const std::string& op) { progress.advance(without_aten(op)); });
  return cases;
}

std::string Verify::reproduce(const std::string& op, const Row& found, uint64_t seed) const {
  return fmt::format("flagos-diag verify {} --case {} --call {} --seed {} --target {}{}{}",
                     shell_word(std::string(without_aten(op))), found.at("case").get<std::string>(),
                     found.at("call").get<int>(), seed, target_name(), kernels_ ? " --kernels" : "",
                     trace_.empty() ? "" : " --trace " + shell_word(trace_));
}

void Verify::add_rows(const std::string& op, const Row& found, const GlobalOptions& options, Report& report) const {
  for (const Row& compared : found.at("rows")) {
    const bool finding = found.at("end") == case_end_name(CaseEnd::kDifferent) && !is_equal(compared);
    const bool wanted = finding || found.at("end") == case_end_name(CaseEnd::kNondeterministic);
    if (!wanted && !options.verbose) {
      continue;
    }
    Row row;
    for (const std::string& field : report.fields) {
      row[field] = compared.contains(field) ? compared.at(field) : Row(nullptr);
    }
    row["op"] = std::string(without_aten(op));
    row["case"] = found.at("case");
    row["call"] = found.at("call");
    row["reproduce"] = reproduce(op, found, options.seed);
    if (found.at("end") == case_end_name(CaseEnd::kNondeterministic)) {
      row["equal"] = nullptr;
      row["reason"] = "nondeterministic: " + row["reason"].get<std::string>();
    }
    report.rows.push_back(std::move(row));
  }
}

Outcome Verify::run(const GlobalOptions& options) {
  const auto source = trace_.empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(trace_);
  const auto ops = selected_operators(source);
  if (kernels_ && target_device_type() != c10::DeviceType::CUDA) {
    throw UsageError(
        fmt::format("verify --kernels compares CUDA kernels and needs the cuda target; the target is {}. "
                    "Run it on a machine with a CUDA device, or leave out --kernels.",
                    target_name()));
  }
  const auto start = std::chrono::steady_clock::now();
  const CasesByOperator found = verify(jobs_for(ops, source), options);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  Outcome outcome;
  outcome.warnings = source.warnings();
  Report& report = outcome.report;
  report.command = "verify";
  report.fields.assign(std::begin(kVerifyFields), std::end(kVerifyFields));
  if (kernels_) {
    report.fields.emplace_back("kernels_equal");
    report.table_fields = report.fields;  // the reason names the kernel that differs; sequences would fill the screen
    report.fields.emplace_back("kernels");
  }
  std::vector<Case> cases;
  for (const auto& [op, of_op] : found) {
    for (const Row& each : of_op) {
      add_rows(op, each, options, report);
      cases.push_back({op, each, reproduce(op, each, options.seed)});
    }
  }
  report.summary = summarize(cases, ops, source);
  if (kernels_) {
    report.summary["kernels"] = kernel_counts(cases);
  }
  report.summary["seconds"] = std::round(elapsed.count() * 10) / 10;
  outcome.code = exit_code(report.summary);
  return outcome;
}

}  // namespace flagos::diag
