#include "commands/record.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "cli/number_checks.h"
#include "cli/shell_word.h"
#include "recording/published_traces.h"
#include "recording/recorded_traces.h"
#include "recording/recorder_hook.h"
#include "recording/watched_program.h"

namespace flagos::diag {
namespace {

void say(const std::string& text) { fmt::print(stderr, "flagos-diag: {}\n", text); }

// Why there is no trace, and the remedy.
std::string missing_trace(const std::vector<RecordedProcess>& processes, size_t unfinished, const ProgramEnd& end) {
  if (unfinished > 0) {
    return fmt::format(
        "the program was ended ({}) before its trace was complete. Have it end by itself, or end the "
        "recording before: --steps, --max-seconds.",
        end.signal != 0 ? fmt::format("signal {}", end.signal) : "by os._exit() or the like");
  }
  if (processes.empty()) {
    return "the program started no Python that reads PYTHONPATH (python -I, -E and -S don't), or it was ended before it "
           "could finish. Name a Python script, -m module or console script after --.";
  }
  const auto failed = std::find_if(processes.begin(), processes.end(), [](const auto& p) { return !p.error.empty(); });
  if (failed != processes.end()) {
    return fmt::format("torch {} could not record: {}", failed->torch, failed->error);
  }
  const bool any_torch = std::any_of(processes.begin(), processes.end(), [](const auto& p) { return p.has_torch; });
  if (!any_torch) {
    return fmt::format("{} has no torch. Install it there (pip install torch), or name the Python that has it.",
                       processes.front().python);
  }
  return "the program did not import torch.";
}

std::string described(const RecordedProcess& process) {
  std::string text = fmt::format("{} operator calls", process.calls);
  if (process.steps > process.skipped) {
    const unsigned recorded = process.steps - process.skipped;
    text += fmt::format(", {} step{}", recorded, recorded == 1 ? "" : "s");
    text += process.skipped > 0 ? fmt::format(" after {} skipped", process.skipped) : "";
  }
  if (process.ended == "seconds" || process.ended == "size") {
    text += process.ended == "size" ? ", cut off by --max-mb" : ", cut off by --max-seconds";
  }
  return text;
}

}  // namespace

CLI::App* Record::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("record", "Run a Python program, and record the operator calls of one step");
  command->add_option("COMMAND", program_, "The program and its arguments, after --: python train.py, torchrun, ...")
      ->required();
  command->add_option("-o,--output", trace_, "The trace, which is replaced whole or not at all [trace.json]")
      ->type_name("FILE");
  command->add_option("--skip-steps", skip_steps_,
                      "Steps that pass first; a step begins with each call of an outermost module [1]");
  command->add_option("--steps", steps_, "Steps to record [1]")->check(whole_number(1));
  command->add_option("--max-seconds", max_seconds_, "Record no longer than this [60]")->check(positive_number());
  command->add_option("--max-mb", max_mb_, "Record no more than this, in megabytes [500]")->check(positive_number());
  return command;
}

Outcome Record::run(const GlobalOptions& options) {
  if (options.format != Format::kTable) {
    throw UsageError("record prints nothing of its own on standard output; leave out --format.");
  }
  const RecordingFolder folder(trace_);
  Variables variables = recorder_variables(folder.path());
  variables.insert(variables.end(), {{"FLAGOS_RECORD_SKIP_STEPS", std::to_string(skip_steps_)},
                                     {"FLAGOS_RECORD_STEPS", std::to_string(steps_)},
                                     {"FLAGOS_RECORD_MAX_SECONDS", fmt::format("{}", max_seconds_)},
                                     {"FLAGOS_RECORD_MAX_MB", fmt::format("{}", max_mb_)}});
  const ProgramEnd end = run_program(program_, variables);
  const auto processes = recorded_processes(folder.path());
  const auto published = publish_traces(processes, end, trace_);
  Outcome outcome;
  outcome.text = "";
  outcome.code = static_cast<ExitCode>(end.code);
  if (end.code != 0) {
    say(fmt::format("the program ended with exit code {}", end.code));
  }
  if (published.empty()) {
    say("nothing was recorded: " + missing_trace(processes, unfinished_traces(folder.path()), end));
    outcome.code = end.code == 0 ? ExitCode::kUsage : outcome.code;
    return outcome;
  }
  for (const auto& [file, process] : published) {
    say(fmt::format("{}: {}{}", file.string(), described(process),
                    published.size() > 1 ? fmt::format(", of process {}: {}", process.pid, process.command) : ""));
  }
  if (published.front().second.calls == 0) {
    say("the trace has no operator calls: torch was imported, but did nothing in the recorded time.");
    outcome.code = end.code == 0 ? ExitCode::kInconclusive : outcome.code;
    return outcome;
  }
  if (!options.quiet) {
    say(fmt::format("next: flagos-diag check-op --trace {}", shell_word(published.front().first.string())));
  }
  return outcome;
}

}  // namespace flagos::diag
