#include "cli/options.h"

#include <unistd.h>

#include <limits>
#include <map>
#include <sstream>
#include <string>

#include "cli/number_checks.h"

namespace flagos::diag {
namespace {

const std::map<std::string, Format> kFormats = {{"table", Format::kTable},
                                                {"json", Format::kJson},
                                                {"jsonl", Format::kJsonLines},
                                                {"csv", Format::kCsv},
                                                {"md", Format::kMarkdown}};
const std::map<std::string, ColorChoice> kColors = {
    {"auto", ColorChoice::kAuto}, {"always", ColorChoice::kAlways}, {"never", ColorChoice::kNever}};

constexpr const char* kExamples =
    R"(  flagos-diag check-op add.Tensor                 which situations take the fast path, and why not
  flagos-diag check-op 'index*' --explain         the same in words, for every operator the glob matches
  flagos-diag check-op --all --format json --output ops.json
  flagos-diag record -o run.json -- python train.py   one step of a program of yours, as a trace
  flagos-diag check-op --trace run.json           the operators that a recorded PyTorch execution trace calls
  flagos-diag verify add.Tensor                   same results with the fast path, without, and natively?
  flagos-diag verify --all --format json          every operator with recorded arguments
  flagos-diag verify mm --case transposed --call 0   one case of one recorded call
  flagos-diag ab-bench add.Tensor mm              what the fast path gains, and what a call costs over native
  flagos-diag ab-bench --workload qwen3-decode --time-budget 60 --format json --output new.json
  flagos-diag compare old.json new.json           what changed between two runs
  flagos-diag report new.json --output report.html   one page with the figures of one or more runs
  flagos-diag stats --trace run.json              how often each operator took the fast path
  flagos-diag routes                              which operators go elsewhere, by which order
  flagos-diag completion bash > flagos-diag.bash  to be read by the shell, or put where it looks for completions
  flagos-diag man                                 the manual page, to be read with man -l
  flagos-diag explain FP-CONJ                     what a code means and what to do
  flagos-diag explain mm                          what is registered for an operator, with source lines
  flagos-diag --list --target cpu                 every operator and how it is carried out
  flagos-diag doctor                              is this installation in order?
)";
constexpr const char* kExitCodes =
    "\nExit codes: 0 as hoped, 1 a finding, 2 usage or environment, 3 inconclusive, 130 interrupted.";

// Those of a command; all for "".
std::string examples(const std::string& command) {
  std::istringstream lines(kExamples);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (command.empty() || line.starts_with("  flagos-diag " + command + ' ')) {
      found += line + '\n';
    }
  }
  return (found.empty() ? "" : "\nExamples:\n" + found) + kExitCodes;
}

// CLI::CheckedTransformer would name the enumerators' numbers in its messages.
template <class T>
void add_choice(CLI::App& app, const std::string& name, T& value, const std::map<std::string, T>& choices,
                const std::string& help) {
  app.add_option_function<std::string>(
         name, [&](const std::string& text) { value = choices.at(text); }, help)
      ->check(CLI::IsMember(&choices));
}

}  // namespace

void add_global_options(CLI::App& app, GlobalOptions& options) {
  app.fallthrough();
  app.add_option("--target", options.target, "Backend whose kernels run [FLAGOS_TARGET, else auto]")
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  add_choice(app, "--format", options.format, kFormats, "Output format [table]");
  app.add_option("--output", options.output, "Write to this file, which is replaced whole or not at all");
  app.add_option("--seed", options.seed, "Seed of made-up data [0]")
      ->check(whole_number(0, std::numeric_limits<uint64_t>::max()));
  add_choice(app, "--color", options.color, kColors, "Colours; a non-empty NO_COLOR means never [auto]");
  app.add_flag("-q,--quiet", options.quiet, "Rows only: no summary, notes or progress");
  app.add_flag("-v,--verbose", options.verbose, "Show the warnings of PyTorch and of worker processes");
  app.add_flag("--list", options.list, "List the operators and how each is carried out");
  app.add_flag("--version", options.version, "Print the version");
}

void add_examples(CLI::App& app) {
  app.footer(examples(""));
  for (CLI::App* command : app.get_subcommands({})) {
    command->footer(examples(command->get_name()));
  }
}

void refuse_empty_values(CLI::App& app) {
  const CLI::Validator filled([](const std::string& text) { return text.empty() ? "the value is empty" : ""; }, "");
  for (CLI::Option* option : app.get_options()) {
    if (option->get_items_expected_max() != 0) {
      option->check(filled);
    }
  }
  for (CLI::App* command : app.get_subcommands({})) {
    refuse_empty_values(*command);
  }
}

TableStyle table_style(const GlobalOptions& options) {
  TableStyle style;
  style.quiet = options.quiet;
  if (options.output.empty()) {
    style.width = terminal_width(STDOUT_FILENO);
    style.color = use_color(options.color, STDOUT_FILENO);
  } else {
    style.color = options.color == ColorChoice::kAlways && use_color(options.color, STDOUT_FILENO);
  }
  return style;
}

}  // namespace flagos::diag
