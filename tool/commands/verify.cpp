#include "commands/verify.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/number_checks.h"
#include "cli/operator_names.h"
#include "cli/shell_word.h"
#include "commands/verify_summary.h"
#include "flagos/flagos.h"
#include "flagos/target.h"
#include "isolation/worker.h"
#include "report/environment.h"
#include "report/progress.h"
#include "report/result_document.h"
#include "verify/verifier.h"

namespace flagos::diag {
namespace {

constexpr double kShrinkSeconds = 10;
constexpr double kShrinkSecondsOfAll = 4;

// Note [Without the fallback]
// An operator that the target has no kernel of is an error natively, and on flagos the CPU's result, by the fallback.
// To compare the two says nothing, so the workers run with FLAGOS_FALLBACK=error, which makes it the same error in all
// arms. A value that the user has set stands.
WorkerCommand worker_command(uint64_t seed, const std::string& trace, bool verbose) {
  return {{"/proc/self/exe"}, seed, trace, verbose, {"FLAGOS_FALLBACK=error"}};
}

std::vector<std::string> variant_names() {
  std::vector<std::string> names;
  for (const Variant variant : kVariants) {
    names.emplace_back(variant_name(variant));
  }
  return names;
}

}  // namespace

CLI::App* Verify::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("verify", "Are results the same with the fast path, without, and natively");
  auto* trace = choice_.add_operators(*command, "Every operator with recorded calls");
  command->add_option("--case", cases_, fmt::format("Only these, comma-separated: {}", fmt::join(variant_names(), " ")))
      ->delimiter(',')
      ->check(CLI::IsMember(variant_names()))
      ->type_name("CASE,...");
  auto* call = choice_.add_call(*command);
  auto* args = command->add_option("--args", args_, "Arguments in place of recorded ones: a trace node's inputs, JSON")
                   ->excludes(trace)
                   ->excludes(call)
                   ->type_name("JSON");
  command->add_option("--data", data_, "What floating-point tensors of --args hold: noise or constant [noise]")
      ->check(CLI::IsMember({data_name(Data::kNoise), data_name(Data::kConstant)}))
      ->needs(args);
  auto* kernels = command->add_flag(
      "--kernels", kernels_,
      "Also compare the sequences of CUDA kernels launched (cuda target); failing cases are not made smaller");
  auto* no_shrink = command->add_flag("--no-shrink", no_shrink_, "Report failing cases as recorded, not made smaller");
  command->add_option("--shrink-tries", shrink_.tries, "Smaller inputs to try for a failing case [100]")
      ->check(whole_number(1))
      ->excludes(kernels)
      ->excludes(no_shrink);
  command
      ->add_option("--shrink-seconds", shrink_seconds_,
                   "Time to make failing cases smaller, of the run [10, with --all 4]")
      ->check(positive_number())
      ->excludes(kernels)
      ->excludes(no_shrink);
  return command;
}

// An item of a job is "CALL:CASE".
std::deque<Job> Verify::jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const {
  std::deque<Job> jobs;
  constexpr size_t kEvery = std::numeric_limits<size_t>::max();
  for (const auto& op : ops) {
    const CallRange range = args_.empty() ? choice_.calls(source.calls(op).size(), kEvery) : CallRange{0, 1};
    Job job{op, {}, "verify", Row::object()};
    if (!args_.empty()) {
      job.settings = case_settings(given_case(op, Variant::kAsRecorded));
    }
    job.settings["kernels"] = kernels_;
    for (size_t call = range.first; call < range.end; ++call) {
      for (const auto& name : cases_.empty() ? variant_names() : without_repeats(cases_)) {
        job.situations.push_back(fmt::format("{}:{}", call, name));
      }
    }
    if (!job.situations.empty()) {
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

std::vector<std::string> Verify::selected_operators(const ArgumentSource& source) const {
  const auto ops =
      choice_.operators([&] { return source.operators(); }, "verify: name operators, or pass --all or --trace FILE.");
  if (args_.empty()) {
    return ops;
  }
  // The overload without a name has that of all of them.
  const auto exact = std::find_if(ops.begin(), ops.end(), [&](const std::string& op) {
    return choice_.patterns().size() == 1 && (op == choice_.patterns()[0] || without_aten(op) == choice_.patterns()[0]);
  });
  if (exact != ops.end()) {
    return {*exact};
  }
  if (ops.size() != 1) {
    throw UsageError(fmt::format("verify: --args are those of one operator, {} are chosen. Name a full overload, {}.",
                                 ops.size(), without_aten(ops.front())));
  }
  return ops;
}

CaseInput Verify::given_case(const std::string& op, Variant variant) const {
  try {
    return case_of_settings({{"args", args_}, {"data", data_}}, op, variant);
  } catch (const std::runtime_error& error) {
    throw UsageError(fmt::format("verify: --args of {}: {}. The form is the inputs of an execution trace's node.",
                                 without_aten(op), error.what()));
  }
}

Verify::CasesByOperator Verify::verify(const std::deque<Job>& jobs, const GlobalOptions& options,
                                       std::string& stopped) const {
  CasesByOperator cases;
  size_t done = 0;
  Progress progress("verify", jobs.size(), options.quiet);
  const WorkerCommand command = worker_command(options.seed, choice_.trace(), options.verbose);
  // See Note [One CUPTI client].
  WorkerPool pool(command, kernels_ ? 1 : WorkerPool::default_size(), kVerifyPatience);
  try {
    pool.run(
        jobs,
        [&](const std::string& op, Row row) {
          if (row.contains("end") && row.at("end") == kNoKernels) {
            throw UsageError("verify --kernels: " + row.at("why").get<std::string>());
          }
          const auto item = row.at("situation").get<std::string>();
          Row found = case_of_answer(std::move(row));
          found["call"] = std::stoul(item);
          found["case"] = item.substr(item.find(':') + 1);
          cases[op].push_back(std::move(found));
        },
        [&](const std::string& op) {
          ++done;
          progress.advance(without_aten(op));
        });
  } catch (const NoWorkers& error) {
    if (cases.empty()) {
      throw;
    }
    stopped = fmt::format("{} of {} operators were not verified to the end: {}", jobs.size() - done, jobs.size(),
                          error.what());
  }
  return cases;
}

std::string Verify::reproduce(const std::string& op, const Row& found, uint64_t seed) const {
  const char* kernels = kernels_ ? " --kernels" : "";
  if (!args_.empty()) {
    return replay_line(op, given_case(op, variant_of(found.at("case").get<std::string>()).value()), seed) + kernels;
  }
  return fmt::format("flagos-diag verify {} --case {} --call {} --seed {} --target {}{}{}",
                     shell_word(std::string(without_aten(op))), found.at("case").get<std::string>(),
                     found.at("call").get<size_t>(), seed, target_name(), kernels,
                     choice_.trace().empty() ? "" : " --trace " + shell_word(choice_.trace()));
}

// Failing cases get a smaller input, the line that replays it in place of the recorded one's, as far as time allows.
void Verify::shrink(CasesByOperator& cases, const ArgumentSource& source, const GlobalOptions& options) const {
  const double seconds = shrink_seconds_ > 0 ? shrink_seconds_ : choice_.all() ? kShrinkSecondsOfAll : kShrinkSeconds;
  CaseShrinker shrinker(worker_command(options.seed, choice_.trace(), options.verbose), shrink_,
                        std::chrono::duration<double>(seconds));
  for (auto& [op, of_op] : cases) {
    for (Row& found : of_op) {
      if (found.at("end") != case_end_name(CaseEnd::kDifferent) || interrupted()) {
        continue;
      }
      const auto variant = variant_of(found.at("case").get<std::string>()).value();
      const auto& recorded = source.calls(op).at(found.at("call").get<size_t>());
      if (const auto smaller = shrinker.smaller(op, {recorded, variant}, found)) {
        found["reproduce"] = replay_line(op, *smaller, options.seed);
        found["shrunk"] = input_text(op, *smaller);
      }
    }
  }
}

void Verify::add_rows(const std::string& op, const Row& found, Report& report) const {
  const bool nondeterministic = found.at("end") == case_end_name(CaseEnd::kNondeterministic);
  for (const Row& compared : found.at("rows")) {
    const bool finding = found.at("end") == case_end_name(CaseEnd::kDifferent) && !is_equal(compared);
    if (!finding && !nondeterministic && !verbose_) {
      continue;
    }
    Row row;
    for (const std::string& field : report.fields) {
      row[field] = compared.contains(field) ? compared.at(field) : Row(nullptr);
    }
    row["op"] = std::string(without_aten(op));
    for (const char* field : {"case", "call", "reproduce", "shrunk"}) {
      row[field] = found.at(field);
    }
    if (nondeterministic) {
      row["equal"] = nullptr;
      row["reason"] = "nondeterministic: " + row["reason"].get<std::string>();
    }
    report.rows.push_back(std::move(row));
  }
}

void Verify::check_kernels_option() const {
  if (kernels_ && target_device_type() != c10::DeviceType::CUDA) {
    throw UsageError(
        fmt::format("verify --kernels compares CUDA kernels and needs the cuda target; the target is {}. "
                    "Run it on a machine with a CUDA device, or leave out --kernels.",
                    target_name()));
  }
}

Outcome Verify::run(const GlobalOptions& options) {
  const auto source = choice_.trace().empty() ? ArgumentSource::bundled() : ArgumentSource::from_trace(choice_.trace());
  const auto ops = selected_operators(source);
  check_kernels_option();
  verbose_ = options.verbose;
  const auto start = std::chrono::steady_clock::now();
  std::string stopped;
  CasesByOperator found = verify(jobs_for(ops, source), options, stopped);
  for (auto& [op, of_op] : found) {
    for (Row& each : of_op) {
      each["reproduce"] = reproduce(op, each, options.seed);
      each["shrunk"] = nullptr;
    }
  }
  if (!no_shrink_ && !kernels_ && args_.empty() && stopped.empty()) {
    shrink(found, source, options);
  }
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  Outcome outcome;
  outcome.warnings = source.warnings();
  Report& report = outcome.report;
  report.command = "verify";
  report.fields.assign(std::begin(kVerifyFields), std::end(kVerifyFields));
  report.line_fields = {"reason", "reproduce", "shrunk"};
  if (kernels_) {
    report.fields.emplace_back("kernels_equal");
    report.table_fields = report.fields;  // the reason names the kernel that differs; sequences would fill the screen
    report.fields.emplace_back("kernels");
  }
  std::vector<VerifiedCase> cases;
  for (const auto& [op, of_op] : found) {
    for (const Row& each : of_op) {
      add_rows(op, each, report);
      cases.push_back({op, each});
    }
  }
  report.summary = summarize_cases(cases, ops, source);
  if (kernels_) {
    report.summary["kernels"] = count_kernels(cases);
  }
  report.summary["seconds"] = std::round(elapsed.count() * 10) / 10;
  report.notes = why_nothing_ran(cases, report.summary);
  outcome.code = verify_exit_code(report.summary);
  if (!stopped.empty()) {
    outcome.warnings.push_back(stopped);
    outcome.code = outcome.code == ExitCode::kAsHoped ? ExitCode::kInconclusive : outcome.code;
  }
  return outcome;
}

}  // namespace flagos::diag
