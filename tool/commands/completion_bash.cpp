// Completion in bash.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "commands/completion_scripts.h"

namespace flagos::diag {
namespace {

// The marks @...@ are replaced by what is made from the interface.
constexpr const char* kBashScript = R"sh(# Completion of flagos-diag for bash, made by: flagos-diag completion bash
# shellcheck shell=bash

# What goes into a place, into kind and values. $1: command; $2: option, or the number of an argument, from 1.
_flagos_diag_place() {
  kind=none values=
  case "$1 $2" in
@PLACES@  esac
}

# The options that command $1 understands.
_flagos_diag_options() {
  case $1 in
@OPTIONS@  esac
}

# The words up to the cursor. COMP_WORDS has them in pieces, broken at = and at the :: of operators.
_flagos_diag_words() {
  local piece joins=no
  words=()
  for piece in "${COMP_WORDS[@]:0:COMP_CWORD+1}"; do
    if [[ ${#words[@]} -gt 1 && ($piece == [=:]* || $joins == yes) ]]; then
      words[-1]+=$piece
    else
      words+=("$piece")
    fi
    joins=no
    [[ -n $piece && -z ${piece//[=:]/} ]] && joins=yes
  done
}

# Fills COMPREPLY with what begins with $1. $2: the program. Uses kind and values.
_flagos_diag_reply() {
  local start=
  case $kind in
    operator)
      [[ -n ${_flagos_diag_names-} ]] || _flagos_diag_names=$("$2" completion --operators 2>/dev/null)
      values+=" $_flagos_diag_names"
      ;;
    list)
      start=${1%"${1##*,}"}
      compopt -o nospace 2>/dev/null
      ;;
    path)
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$1")
      return
      ;;
  esac
  mapfile -t COMPREPLY < <(compgen -P "$start" -W "$values" -- "${1#"$start"}")
}

_flagos_diag() {
  local command='' option='' argument=1 kind values words word current program=${1/#\~/$HOME}
  _flagos_diag_words
  current=${words[-1]}
  for word in "${words[@]:1:${#words[@]}-2}"; do
    if [[ -n $option ]]; then
      option=
    elif [[ $word == -* ]]; then
      _flagos_diag_place "$command" "$word"
      [[ $kind == none ]] || option=$word
    elif [[ -z $command ]]; then
      command=$word
    else
      argument=$((argument + 1))
    fi
  done
  if [[ -z $option && $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
  fi
  if [[ -n $option ]]; then
    _flagos_diag_place "$command" "$option"
  elif [[ $current == -* ]]; then
    kind=choice values=$(_flagos_diag_options "$command")
  elif [[ -z $command ]]; then
    kind=choice values='@COMMANDS@'
  else
    _flagos_diag_place "$command" "$argument"
  fi
  _flagos_diag_reply "$current" "$program"
  if [[ $COMP_WORDBREAKS == *:* && $current == *:* ]]; then
    COMPREPLY=("${COMPREPLY[@]#"${current%"${current##*:}"}"}")
  fi
}

complete -F _flagos_diag flagos-diag
)sh";

// A line of the case in _flagos_diag_place(); none for a flag.
std::string bash_place(const std::string& pattern, const OptionInterface& option) {
  std::string kind = "text";
  std::vector<std::string> values = option.choices;
  switch (option.kind) {
    case ValueKind::kNone:
      return "";
    case ValueKind::kChoice:
      kind = option.delimiter == '\0' ? "choice" : "list";
      break;
    case ValueKind::kFile:
      kind = "path";
      break;
    case ValueKind::kReasonOrOperator:
      values = reason_codes();
      [[fallthrough]];
    case ValueKind::kOperator:
      kind = "operator";
      break;
    default:
      break;
  }
  const std::string words = values.empty() ? "" : fmt::format(" values='{}'", fmt::join(values, " "));
  return fmt::format("    {}) kind={}{} ;;\n", pattern, kind, words);
}

// "--all -h --help"
std::string names_of(const std::vector<OptionInterface>& options) {
  std::string names;
  for (const OptionInterface& option : options) {
    names += fmt::format("{}{}", names.empty() ? "" : " ", fmt::join(option.names, " "));
  }
  return names;
}

// An own option comes before the global one of its name.
std::string bash_places(const Interface& interface) {
  std::string places;
  for (const CommandInterface& command : interface.commands) {
    for (const OptionInterface& option : command.options) {
      for (const auto& name : option.names) {
        places += bash_place(in_quotes(command.name + " " + name), option);
      }
    }
    for (size_t i = 0; i < command.positionals.size(); ++i) {
      const OptionInterface& argument = command.positionals[i];
      places += bash_place(argument.repeated ? in_quotes(command.name + " ") + "[0-9]*"
                                             : in_quotes(fmt::format("{} {}", command.name, i + 1)),
                           argument);
    }
  }
  for (const OptionInterface& option : interface.options) {
    for (const auto& name : option.names) {
      places += bash_place("*" + in_quotes(" " + name), option);
    }
  }
  return places;
}

}  // namespace

std::string bash_script(const Interface& interface) {
  std::string options;
  for (const CommandInterface& command : interface.commands) {
    options += fmt::format("    {}) echo '{}' ;;\n", command.name, names_of(options_after(command, interface)));
  }
  options += fmt::format("    *) echo '{}' ;;\n", names_of(interface.options));
  std::string script = kBashScript;
  replace_marks(script, "@PLACES@", bash_places(interface));
  replace_marks(script, "@OPTIONS@", options);
  replace_marks(script, "@COMMANDS@", fmt::format("{}", fmt::join(command_names(interface), " ")));
  return script;
}

}  // namespace flagos::diag
