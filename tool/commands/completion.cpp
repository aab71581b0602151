#include "commands/completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <set>

#include "cli/operator_names.h"
#include "cli/shell_word.h"
#include "commands/completion_scripts.h"
#include "flagos/redispatch.h"

namespace flagos::diag {
namespace {

const std::map<std::string, std::string (*)(const Interface&)> kScripts = {
    {"bash", bash_script}, {"fish", fish_script}, {"zsh", zsh_script}};

// Full overloads and bare names, one a line, sorted.
std::string operator_lines() {
  std::set<std::string> names;
  for (const auto& op : all_operators()) {
    const std::string name(without_aten(op));
    names.insert(name);
    names.insert(name.substr(0, name.find('.')));
  }
  return fmt::format("{}\n", fmt::join(names, "\n"));
}

}  // namespace

CLI::App* Completion::add_to(CLI::App& app) {
  program_ = &app;
  CLI::App* command = app.add_subcommand("completion", "Print a script that completes command lines in a shell");
  auto* shell =
      command->add_option("SHELL", shell_, "The shell that reads the script")->check(CLI::IsMember(&kScripts));
  command->add_flag("--operators", operators_, "Print the operators' names instead; the scripts ask for them")
      ->excludes(shell);
  return command;
}

Outcome Completion::run(const GlobalOptions& /*options*/) {
  if (shell_.empty() && !operators_) {
    throw UsageError("completion: for which shell? For this one: source <(flagos-diag completion bash)");
  }
  Outcome outcome;
  outcome.text = operators_ ? operator_lines() : kScripts.at(shell_)(describe_interface(*program_));
  return outcome;
}

void replace_marks(std::string& text, std::string_view mark, const std::string& with) {
  for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + with.size())) {
    text.replace(at, mark.size(), with);
  }
}

std::string in_quotes(const std::string& text) {
  const std::string word = shell_word(text);
  return word.starts_with('\'') ? word : fmt::format("'{}'", word);
}

std::vector<std::string> reason_codes() {
  std::vector<std::string> codes;
  for (size_t i = 1; i < static_cast<size_t>(Reason::kCount); ++i) {
    codes.emplace_back(reason_code(static_cast<Reason>(i)));
  }
  return codes;
}

std::vector<std::string> command_names(const Interface& interface) {
  std::vector<std::string> names;
  for (const CommandInterface& command : interface.commands) {
    names.push_back(command.name);
  }
  return names;
}

}  // namespace flagos::diag
