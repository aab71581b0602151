// Command: one subcommand of the tool.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "cli/options.h"
#include "report/report.h"

namespace flagos::diag {

struct Outcome {
  Report report;
  ExitCode code = ExitCode::kAsHoped;
  std::vector<std::string> warnings{};  // for standard error, and in documents
  std::optional<std::string> text{};    // of a form of its own, in place of the report
};

class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  Command(Command&&) = delete;
  Command& operator=(Command&&) = delete;
  virtual ~Command() = default;

  // Adds the subcommand and its options. The options are read into this object, which must outlive `app`.
  virtual CLI::App* add_to(CLI::App& app) = 0;

  // Throws UsageError for what the user can put right, other exceptions for what is broken.
  virtual Outcome run(const GlobalOptions& options) = 0;

  // Whether the library must have been loaded without an error; doctor reports on it instead.
  virtual bool needs_library() const { return true; }
};

// The commands, in the order of the help text.
std::vector<std::unique_ptr<Command>> make_commands();

}  // namespace flagos::diag
