// Completion in fish.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/completion_scripts.h"

namespace flagos::diag {
namespace {

constexpr const char* kStart = R"sh(# Completion of flagos-diag for fish, made by: flagos-diag completion fish

function __flagos_diag_operators
    if not set -q __flagos_diag_names
        set -l words (commandline -opc)
        set -l program (string replace -r '^~' $HOME -- $words[1])
        set -g __flagos_diag_names ($program completion --operators 2>/dev/null)
    end
    printf '%s\n' $__flagos_diag_names
end

complete -c flagos-diag -f
)sh";

// The options of `complete` that say what a value is: " -r -F" for a file; nothing for a flag.
std::string fish_value(const OptionInterface& option) {
  const std::string words = fmt::format("{}", fmt::join(option.choices, " "));
  switch (option.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      return " -x -a " + in_quotes(option.delimiter == '\0'
                                       ? words
                                       : fmt::format("(__fish_append {} {})", option.delimiter, words));
    case ValueKind::kFile:
      return " -r -F";
    case ValueKind::kOperator:
      return " -x -a '(__flagos_diag_operators)'";
    case ValueKind::kReasonOrOperator:
      return fmt::format(" -x -a '{} (__flagos_diag_operators)'", fmt::join(reason_codes(), " "));
    default:
      return " -x";
  }
}

// `condition`: when it can be typed.
std::string fish_line(const OptionInterface& option, const std::string& condition) {
  std::string line = "complete -c flagos-diag";
  if (!condition.empty()) {
    line += " -n " + in_quotes(condition);
  }
  for (const auto& name : option.names) {
    line += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  return line + fish_value(option) + (option.names.empty() ? "" : " -d " + in_quotes(option.help)) + "\n";
}

// Commands have their own option in place of a global one.
std::string condition_of(const OptionInterface& global, const Interface& interface) {
  std::string commands;
  for (const CommandInterface& command : interface.commands) {
    commands += has_option_named_as(command, global) ? " " + command.name : "";
  }
  return commands.empty() ? "" : "not __fish_seen_subcommand_from" + commands;
}

}  // namespace

std::string fish_script(const Interface& interface) {
  std::string script = kStart;
  for (const OptionInterface& option : interface.options) {
    script += fish_line(option, condition_of(option, interface));
  }
  const std::string needs_command =
      fmt::format("not __fish_seen_subcommand_from {}", fmt::join(command_names(interface), " "));
  for (const CommandInterface& command : interface.commands) {
    script += fmt::format("complete -c flagos-diag -n {} -a {} -d {}\n", in_quotes(needs_command), command.name,
                          in_quotes(command.help));
    const std::string condition = "__fish_seen_subcommand_from " + command.name;
    for (const auto* options : {&command.options, &command.positionals}) {
      for (const OptionInterface& option : *options) {
        script += fish_line(option, condition);
      }
    }
  }
  return script;
}

}  // namespace flagos::diag
