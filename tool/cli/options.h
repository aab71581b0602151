// The options every command has.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <filesystem>
#include <string>

#include "report/terminal.h"
#include "report/writer.h"

namespace flagos::diag {

struct GlobalOptions {
  std::string target;  // "auto", "cpu", "cuda"; empty: FLAGOS_TARGET as it is
  Format format = Format::kTable;
  std::filesystem::path output;  // empty: standard output
  uint64_t seed = 0;
  ColorChoice color = ColorChoice::kAuto;
  bool quiet = false;
  bool verbose = false;
  bool list = false;
  bool version = false;
};

// Adds the global options to `app`, which reads them into `options`. Commands added later accept them too, after their
// name. `options` must outlive `app`.
void add_global_options(CLI::App& app, GlobalOptions& options);

// Ends the help text of `app` and of each command that it has by then with its examples and the exit codes.
void add_examples(CLI::App& app);

// How reports are drawn with these options.
// Has every option and argument, commands' too, refuse an empty value: "$FILE" of a script that forgot to set it must
// not mean "no --trace".
void refuse_empty_values(CLI::App& app);

TableStyle table_style(const GlobalOptions& options);

}  // namespace flagos::diag
