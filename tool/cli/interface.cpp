#include "cli/interface.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <string_view>

namespace flagos::diag {
namespace {

constexpr std::string_view kFileType = "FILE";
constexpr const char* kNumberName = "N";
constexpr std::array<std::string_view, 3> kNumberTypes = {"INT", "UINT", "FLOAT"};
constexpr std::array<std::string_view, 2> kFileOptions = {"--output", "--trace"};  // whose type CLI11 calls TEXT

std::vector<std::string> typed_names(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const auto& name : option.get_snames()) {
    names.push_back("-" + name);
  }
  for (const auto& name : option.get_lnames()) {
    names.push_back("--" + name);
  }
  return names;
}

// CLI11 keeps what CLI::IsMember allows in its description alone: the type is "TEXT:{auto,cpu,cuda}".
std::vector<std::string> choices_in(std::string_view type) {
  const size_t start = type.find(":{");
  const size_t end = type.find('}', std::min(start, type.size()));
  std::vector<std::string> choices;
  if (end == std::string_view::npos) {
    return choices;
  }
  for (size_t at = start + 2; at < end;) {
    const size_t comma = std::min(type.find(',', at), end);
    choices.emplace_back(type.substr(at, comma - at));
    at = comma + 1;
  }
  return choices;
}

// Help texts end with what holds when the option is not given, in brackets.
void split_default(OptionInterface& option) {
  const size_t start = option.help.rfind(" [");
  if (start != std::string::npos && option.help.back() == ']') {
    option.default_text = option.help.substr(start + 2, option.help.size() - start - 3);
    option.help.resize(start);
  }
}

bool is_file(const OptionInterface& option, std::string_view type) {
  const auto named = [&](std::string_view name) {
    return std::find(option.names.begin(), option.names.end(), name) != option.names.end();
  };
  return type.starts_with(kFileType) || std::any_of(kFileOptions.begin(), kFileOptions.end(), named);
}

void set_kind(OptionInterface& option, const CLI::Option& defined) {
  const std::string whole = defined.get_type_name();
  const std::string_view type = std::string_view(whole).substr(0, whole.find(':'));
  const std::string position = defined.get_name(true);
  option.choices = choices_in(whole);
  option.value_name = type;
  if (!position.empty()) {
    option.value_name = position;
  }
  if (defined.get_items_expected_max() == 0) {
    option.kind = ValueKind::kNone;
    option.value_name.clear();
  } else if (!option.choices.empty()) {
    option.kind = ValueKind::kChoice;
  } else if (position == "OP") {
    option.kind = ValueKind::kOperator;
  } else if (position == "CODE|OP") {
    option.kind = ValueKind::kReasonOrOperator;
  } else if (is_file(option, type)) {
    option.kind = ValueKind::kFile;
    option.value_name = type.starts_with(kFileType) || !position.empty() ? option.value_name : std::string(kFileType);
  } else if (std::find(kNumberTypes.begin(), kNumberTypes.end(), type) != kNumberTypes.end()) {
    option.kind = ValueKind::kNumber;
    option.value_name = kNumberName;
  } else {
    option.kind = ValueKind::kText;
  }
}

OptionInterface describe_option(const CLI::Option& defined) {
  OptionInterface option;
  option.names = typed_names(defined);
  option.help = defined.get_description();
  option.delimiter = defined.get_delimiter();
  option.required = defined.get_required();
  option.repeated = defined.get_expected_max() > 1;
  set_kind(option, defined);
  option.default_text = defined.get_default_str();
  if (option.default_text.empty()) {
    split_default(option);
  }
  return option;
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app, bool positional) {
  return app.get_options([positional](const CLI::Option* option) {
    return !option->get_group().empty() && option->nonpositional() != positional;
  });
}

std::vector<OptionInterface> describe_options(const CLI::App& app, bool positional) {
  std::vector<OptionInterface> options;
  for (const CLI::Option* option : shown_options(app, positional)) {
    options.push_back(describe_option(*option));
  }
  return options;
}

}  // namespace

Interface describe_interface(const CLI::App& app) {
  Interface described{app.get_description(), describe_options(app, false), {}, app.get_footer()};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* each) { return !each->get_group().empty(); })) {
    described.commands.push_back({command->get_name(), command->get_description(), describe_options(*command, false),
                                  describe_options(*command, true)});
  }
  return described;
}

std::vector<OptionInterface> options_after(const CommandInterface& command, const Interface& interface) {
  std::vector<OptionInterface> options = command.options;
  std::copy_if(interface.options.begin(), interface.options.end(), std::back_inserter(options),
               [&](const OptionInterface& global) { return !has_option_named_as(command, global); });
  return options;
}

bool has_option_named_as(const CommandInterface& command, const OptionInterface& global) {
  return std::any_of(command.options.begin(), command.options.end(), [&](const OptionInterface& own) {
    return std::any_of(own.names.begin(), own.names.end(), [&](const std::string& name) {
      return std::find(global.names.begin(), global.names.end(), name) != global.names.end();
    });
  });
}

}  // namespace flagos::diag
