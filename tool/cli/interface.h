// Interface: the commands and options as CLI11 holds them, as plain data. What tells people or shells about them
// (completion scripts, the man page) is made of it, so that it can't say anything else than the parser does.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace flagos::diag {

// How far a value can be completed.
enum class ValueKind {
  kNone,  // a flag: there is no value
  kText,
  kNumber,
  kChoice,  // one of `choices`; with a delimiter any number of them
  kFile,
  kOperator,          // OP: a full overload, a bare name or a glob
  kReasonOrOperator,  // the same, or a reason code
};

// An option, or an argument that has its meaning from its position.
struct OptionInterface {
  std::vector<std::string> names;  // as they are typed: "-q", "--quiet"; of a positional one none
  std::string value_name;          // what usage calls the value: "OP", "FILE", "N"; empty for a flag
  ValueKind kind = ValueKind::kNone;
  std::vector<std::string> choices;  // with their order in the help text
  std::string help;                  // without the default
  std::string default_text;          // "table", "10 a case, 300 at most"; empty: none is told
  char delimiter = '\0';             // between values in one word; 0: one value a word
  bool required = false;
  bool repeated = false;  // may be given more than once
};

struct CommandInterface {
  std::string name;
  std::string help;
  std::vector<OptionInterface> options;      // of its own; the global ones are understood after its name too
  std::vector<OptionInterface> positionals;  // in their order
};

struct Interface {
  std::string description;
  std::vector<OptionInterface> options;  // the global ones
  std::vector<CommandInterface> commands;
  std::string footer;  // of the help text: the examples
};

inline constexpr const char* kProgramName = "flagos-diag";

// What `app` parses. Hidden options and commands (those in no group) are left out.
Interface describe_interface(const CLI::App& app);

// The options that can follow the command's name: its own, then the global ones that it has none of that name for.
std::vector<OptionInterface> options_after(const CommandInterface& command, const Interface& interface);

// Whether a command's own option takes the place of the global one after the command's name.
bool has_option_named_as(const CommandInterface& command, const OptionInterface& global);

}  // namespace flagos::diag
