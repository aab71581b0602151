#include "commands/man_page.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <string>
#include <string_view>

#include "cli/interface.h"
#include "flagos/target.h"

namespace flagos::diag {
namespace {

struct Described {
  const char* name;
  const char* text;
};

constexpr std::array kParagraphs = {
    "An operator OP is a full overload (add.Tensor), a bare name, which means all its overloads (add), or a glob "
    "('index*'). Its arguments come from the trace that --trace or --workload names, else from the calls that were "
    "recorded of PyTorch's own samples when flagos-diag was built.",
    "Data go to standard output, everything else to standard error. Global options can also follow the command."};

// Those of ExitCode, in cli/exit_code.h.
constexpr std::array kExitCodes = {
    Described{"0", "As hoped."},
    Described{"1", "A finding: a mismatch, a wrong prediction, a regression past --fail-on."},
    Described{"2", "The command line or the environment is at fault; standard error says what to do."},
    Described{"3", "Inconclusive: nothing ran, or no difference could be told from noise."},
    Described{"130", "Interrupted by Ctrl-C; what there was has been printed."}};

constexpr const char* kAboutVariables =
    "They are read once, when the library is loaded. A value that is not understood is an error. A switch is on when "
    "set to anything but 0; empty counts as not set.";

constexpr std::array kVariables = {
    Described{"FLAGOS_TARGET",
              "auto (the default), cpu or cuda: the backend whose kernels run. --target comes before it."},
    Described{"FLAGOS_DISABLE", "A switch: load nothing, register nothing. Most commands then end with 2."},
    Described{"FLAGOS_NO_REDISPATCH", "A switch: no call takes the fast path."},
    Described{"FLAGOS_FALLBACK",
              "warn (the default), error or allow: what becomes of an operator that the target has no "
              "kernel for."},
    Described{"FLAGOS_BACKEND_CONFIG", "A file of routes; routes --conf checks one."},
    Described{"FLAGOS_OP_<name>", "The route of one operator, dots as __: FLAGOS_OP_add__Tensor=dispatch."},
    Described{"FLAGOS_LOG_DISPATCH", "A switch: log each operator's first call and how it was carried out."},
    Described{"FLAGOS_LOG_FALLBACK", "A switch: log every fallback."},
    Described{"FLAGOS_LIBRARY", "The libflagos.so that the Python package loads; flagos-diag has its own."},
    Described{"NO_COLOR", "Not empty: no colours, whatever --color says; nor with TERM=dumb."}};

constexpr const char* kSeeAlso =
    "The schema of the documents that --format json writes: flagos-diag-1.schema.json, beside the recorded calls in "
    "share/flagos. How a trace is recorded: torch.profiler.ExecutionTraceObserver.";

// Text that means nothing to roff. A hyphen stays one that can be copied.
std::string plain(std::string_view text) {
  std::string result;
  for (const char c : text) {
    switch (c) {
      case '\\':
        result += "\\e";
        break;
      case '-':
        result += "\\-";
        break;
      case '\'':
        result += "\\(aq";
        break;
      case '`':
        result += "\\(ga";
        break;
      case '"':
        result += "\\(dq";
        break;
      case '^':
        result += "\\(ha";
        break;
      case '~':
        result += "\\(ti";
        break;
      default:
        result += c;
    }
  }
  return result.starts_with('.') ? "\\&" + result : result;
}

std::string bold(std::string_view text) { return "\\fB" + plain(text) + "\\fR"; }
std::string italic(std::string_view text) { return "\\fI" + plain(text) + "\\fR"; }

std::string sentence(const std::string& text) {
  const bool ends = text.empty() || std::string_view(".?!").find(text.back()) != std::string_view::npos;
  return plain(text) + (ends ? "" : ".");
}

// "json|csv" or "FILE".
std::string value_text(const OptionInterface& option) {
  if (option.kind != ValueKind::kChoice || option.delimiter != '\0') {
    return italic(option.value_name);
  }
  std::string text;
  for (const auto& choice : option.choices) {
    text += (text.empty() ? "" : "|") + bold(choice);
  }
  return text;
}

std::string argument_text(const OptionInterface& argument) {
  // Some names tell themselves that there may be more.
  const bool more = argument.repeated && !argument.value_name.ends_with("...");
  const std::string text = value_text(argument) + (more ? " ..." : "");
  return argument.required ? text : "[" + text + "]";
}

std::string option_entry(const OptionInterface& option) {
  std::string names;
  for (const auto& name : option.names) {
    names += (names.empty() ? "" : ", ") + bold(name);
  }
  const std::string value = option.kind == ValueKind::kNone ? "" : value_text(option);
  const std::string separator = names.empty() || value.empty() ? "" : " ";
  const std::string by_default =
      option.default_text.empty() ? "" : fmt::format(" Default: {}.", plain(option.default_text));
  return fmt::format(".TP\n{}{}{}\n{}{}\n", names, separator, value, sentence(option.help), by_default);
}

std::string usage_line(const CommandInterface& command) {
  std::string line = bold(fmt::format("{} {}", kProgramName, command.name));
  for (const OptionInterface& argument : command.positionals) {
    line += " " + argument_text(argument);
  }
  return line + (command.options.size() > 1 ? " [" + italic("OPTION") + " ...]" : "");  // --help is no reason
}

std::string synopsis(const Interface& interface) {
  std::string text = fmt::format(".SH SYNOPSIS\n{} [{} ...] {} [{} ...]\n", bold(kProgramName), italic("OPTION"),
                                 italic("COMMAND"), italic("ARGUMENT"));
  for (const CommandInterface& command : interface.commands) {
    text += ".br\n" + usage_line(command) + "\n";
  }
  return text;
}

std::string commands_section(const Interface& interface) {
  std::string text = ".SH COMMANDS\n";
  for (const CommandInterface& command : interface.commands) {
    text += fmt::format(".SS {}\n{}\n", plain(command.name), sentence(command.help));
    for (const auto* options : {&command.positionals, &command.options}) {
      for (const OptionInterface& option : *options) {
        const bool is_help = !option.names.empty() && option.names.back() == "--help";
        text += is_help ? "" : option_entry(option);
      }
    }
  }
  return text;
}

// The lines of the help text's end that begin with the program's name: a command, then what it is for.
std::string examples_section(const Interface& interface) {
  std::string text = ".SH EXAMPLES\n";
  std::istringstream lines(interface.footer);
  const std::string start = fmt::format("  {} ", kProgramName);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(start)) {
      continue;
    }
    const size_t end = std::min(line.find("  ", start.size()), line.size());
    const size_t explained = std::min(line.find_first_not_of(' ', end), line.size());
    const std::string command = bold(line.substr(2, end - 2));
    const std::string purpose = line.substr(explained);
    text +=
        purpose.empty() ? fmt::format(".PP\n{}\n", command) : fmt::format(".TP\n{}\n{}\n", command, sentence(purpose));
  }
  return text;
}

template <class Entries>
std::string entries_section(const char* title, const char* about, const Entries& entries) {
  std::string text = fmt::format(".SH {}\n", title);
  text += about == nullptr ? "" : plain(about) + "\n";
  for (const Described& entry : entries) {
    text += fmt::format(".TP\n{}\n{}\n", bold(entry.name), plain(entry.text));
  }
  return text;
}

std::string man_page(const Interface& interface) {
  std::string what = interface.description.substr(0, interface.description.find(':'));
  what.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(what.front())));
  std::string page =
      fmt::format(".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n", "FLAGOS\\-DIAG", plain(kProgramName), version());
  page += fmt::format(".SH NAME\n{} \\- {}\n", plain(kProgramName), plain(what));
  page += synopsis(interface);
  page += fmt::format(".SH DESCRIPTION\n{}\n", sentence(interface.description));
  for (const char* paragraph : kParagraphs) {
    page += fmt::format(".PP\n{}\n", plain(paragraph));
  }
  page += ".SH OPTIONS\n";
  for (const OptionInterface& option : interface.options) {
    page += option_entry(option);
  }
  page += commands_section(interface);
  page += entries_section("EXIT STATUS", nullptr, kExitCodes);
  page += entries_section("ENVIRONMENT", kAboutVariables, kVariables);
  page += examples_section(interface);
  return page + fmt::format(".SH SEE ALSO\n{}\n", plain(kSeeAlso));
}

}  // namespace

CLI::App* ManPage::add_to(CLI::App& app) {
  program_ = &app;
  return app.add_subcommand("man", "Print the manual page, to be read with man -l");
}

Outcome ManPage::run(const GlobalOptions& /*options*/) {
  Outcome outcome;
  outcome.text = man_page(describe_interface(*program_));
  return outcome;
}

}  // namespace flagos::diag
