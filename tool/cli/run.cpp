#include "cli/run.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <utility>

#include "cli/exit_code.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/standard_streams.h"
#include "cli/target_choice.h"
#include "commands/command.h"
#include "commands/list.h"
#include "flagos/flagos.h"
#include "isolation/worker.h"
#include "report/environment.h"
#include "report/error_text.h"
#include "report/output_file.h"

namespace flagos::diag {
namespace {

// The command that was named; --list is one too. Null: none.
Command* chosen_command(const std::vector<std::pair<CLI::App*, Command*>>& commands) {
  for (const auto& [app, command] : commands) {
    if (app->parsed()) {
      return command;
    }
  }
  return nullptr;
}

void require_library() {
  bool registered = false;
  try {
    registered = flagos::init();
  } catch (const std::exception& error) {
    throw UsageError(fmt::format("libflagos could not be loaded: {}", error_text(error)));
  }
  if (!registered) {
    throw UsageError("libflagos is inert: FLAGOS_DISABLE is set. Unset it.");
  }
}

// Standard error may be closed, which is no reason to end with another exit code.
void report_error(std::string_view text) noexcept {
  std::fprintf(stderr, "flagos-diag: %.*s\n", static_cast<int>(text.size()), text.data());
}

ExitCode run(Command& command, const GlobalOptions& options) {
  check_output_file(options.output);
  if (command.needs_library()) {
    require_library();
  }
  Outcome outcome = command.run(options);
  if (interrupted()) {
    outcome.warnings.emplace_back("interrupted: the results are those until then");
  }
  for (const auto& warning : outcome.warnings) {
    report_error("warning: " + warning);
  }
  if (outcome.text.has_value()) {
    if (options.format != Format::kTable) {
      throw UsageError("this command prints text of a form of its own; leave out --format.");
    }
    write_output(options.output, [&](std::ostream& out) { out << *outcome.text; });
    return outcome.code;
  }
  outcome.report.environment = describe_environment(options.seed);
  outcome.report.warnings = std::move(outcome.warnings);
  write_output(options.output, [&](std::ostream& out) {
    make_writer(options.format, table_style(options))->write(outcome.report, out);
  });
  return interrupted() ? ExitCode::kInterrupted : outcome.code;
}

ExitCode parse(int argc, char** argv) {
  GlobalOptions options;
  CLI::App app("Diagnoses a PyTorch device of libflagos: which operators take the redispatch fast path, and why not.");
  add_global_options(app, options);
  app.require_subcommand(0, 1);
  List list;
  const auto made = make_commands();
  std::vector<std::pair<CLI::App*, Command*>> commands;
  for (const auto& command : made) {
    commands.emplace_back(command->add_to(app), command.get());
  }
  add_examples(app);
  refuse_empty_values(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error, std::cout, std::cerr) == 0 ? ExitCode::kAsHoped : ExitCode::kUsage;
  }
  if (options.version) {
    fmt::print("flagos-diag {}\n", flagos::version());
    return ExitCode::kAsHoped;
  }
  Command* command = options.list ? &list : chosen_command(commands);
  if (command == nullptr) {
    throw UsageError("no command. flagos-diag --help names them.");
  }
  restart_with_target(options.target, argv);
  catch_interrupt();
  return run(*command, options);
}

}  // namespace

ExitCode parse_and_run(int argc, char** argv) noexcept {
  try {
    const ExitCode code = parse(argc, argv);
    if (output_arrived()) {
      return code;
    }
    report_error("can't write to standard output");
  } catch (const std::exception& error) {
    report_error(error.what());
  }
  return interrupted() ? ExitCode::kInterrupted : ExitCode::kUsage;
}

}  // namespace flagos::diag

extern "C" int flagos_diag_main(int argc, char** argv) {
  flagos::diag::open_closed_streams();
  if (flagos::diag::is_worker(argc, argv)) {
    return flagos_diag_worker(argc, argv);
  }
  return static_cast<int>(flagos::diag::parse_and_run(argc, argv));
}
