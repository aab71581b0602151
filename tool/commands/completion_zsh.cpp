// Completion in zsh.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/completion_scripts.h"

namespace flagos::diag {
namespace {

// The marks @...@ are replaced by what is made from the interface.
constexpr const char* kZshScript = R"sh(#compdef flagos-diag
# Completion of flagos-diag for zsh, made by: flagos-diag completion zsh

_flagos_diag_operators() {
  if (( ! ${#_flagos_diag_names} )); then
    typeset -ga _flagos_diag_names
    _flagos_diag_names=(${(f)"$($program completion --operators 2>/dev/null)"})
  fi
  compadd "$@" -a _flagos_diag_names
}

_flagos_diag_reasons_and_operators() {
  compadd "$@" - @REASONS@
  _flagos_diag_operators "$@"
}

_flagos_diag() {
  local curcontext=$curcontext state line program=${~words[1]}
  local -a commands
  local -A opt_args
  commands=(
@COMMANDS@  )
  _arguments -C -s \
@GLOBALS@    '1:command:->command' '*::argument:->argument' && return
  case $state in
    command) _describe -t commands command commands ;;
    argument)
      curcontext="${curcontext%:*}-$words[1]:"
      case $words[1] in
@PLACES@      esac
      ;;
  esac
}

# Autoloaded from fpath this file is the function's body; else it is sourced.
if [[ $funcstack[1] == _flagos-diag ]]; then
  _flagos_diag "$@"
else
  compdef _flagos_diag flagos-diag
fi
)sh";

// What _arguments is told of a value: ":FILE:_files"; nothing for a flag.
std::string zsh_value(const OptionInterface& option) {
  switch (option.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      return option.delimiter == '\0' ? fmt::format(":{}:({})", option.value_name, fmt::join(option.choices, " "))
                                      : fmt::format(":{0}:_values -s {1} {0} {2}", option.value_name, option.delimiter,
                                                    fmt::join(option.choices, " "));
    case ValueKind::kFile:
      return fmt::format(":{}:_files", option.value_name);
    case ValueKind::kOperator:
      return fmt::format(":{}:_flagos_diag_operators", option.value_name);
    case ValueKind::kReasonOrOperator:
      return fmt::format(":{}:_flagos_diag_reasons_and_operators", option.value_name);
    default:
      return fmt::format(":{}: ", option.value_name);
  }
}

// The words for _arguments, one a line.
std::string zsh_arguments(const std::vector<OptionInterface>& options, std::string_view indent) {
  std::string lines;
  for (const OptionInterface& option : options) {
    std::string help = option.help;
    replace_marks(help, "]", "\\]");
    for (const auto& name : option.names) {
      const bool once = !option.repeated && option.names.size() > 1;
      const std::string before = option.repeated ? "*" : once ? fmt::format("({})", fmt::join(option.names, " ")) : "";
      const char* joined = option.kind == ValueKind::kNone ? "" : name.starts_with("--") ? "=" : "+";
      lines += fmt::format("{}{} \\\n", indent,
                           in_quotes(fmt::format("{}{}{}[{}]{}", before, name, joined, help, zsh_value(option))));
    }
    if (option.names.empty()) {
      lines += fmt::format("{}{} \\\n", indent, in_quotes((option.repeated ? "*" : "") + zsh_value(option)));
    }
  }
  return lines;
}

}  // namespace

std::string zsh_script(const Interface& interface) {
  std::string commands;
  std::string places;
  for (const CommandInterface& command : interface.commands) {
    commands += fmt::format("    {}\n", in_quotes(fmt::format("{}:{}", command.name, command.help)));
    std::vector<OptionInterface> options = options_after(command, interface);
    options.insert(options.end(), command.positionals.begin(), command.positionals.end());
    places += fmt::format("        {})\n          _arguments -s \\\n{}            && return\n          ;;\n",
                          command.name, zsh_arguments(options, "            "));
  }
  std::string script = kZshScript;
  replace_marks(script, "@REASONS@", fmt::format("{}", fmt::join(reason_codes(), " ")));
  replace_marks(script, "@COMMANDS@", commands);
  replace_marks(script, "@GLOBALS@", zsh_arguments(interface.options, "    "));
  replace_marks(script, "@PLACES@", places);
  return script;
}

}  // namespace flagos::diag
