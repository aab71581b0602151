#include "routes/names.h"

#include <limits>

#include "spelling/edit_distance.h"

namespace flagos::routing {
namespace {

constexpr std::string_view kAten = "aten::";
constexpr const char* kDefault = "default";  // what Python calls the overload without a name
constexpr size_t kLongestName = 128;         // more of a mistyped name tells no more

// "add.Tensor" -> "add__Tensor"
std::string as_variable(std::string_view name) {
  std::string text;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '.') {
      text += "__";
    } else if (name.substr(i, 2) == "::") {
      text += "__";
      ++i;
    } else {
      text += name[i];
    }
  }
  return text;
}

}  // namespace

OperatorNames::OperatorNames(Spelling spelling) : spelling_(spelling) {
  auto& dispatcher = c10::Dispatcher::singleton();
  for (const c10::OperatorName& name : dispatcher.getAllOpNames()) {
    const auto op = dispatcher.findSchema(name);
    if (op.has_value()) {
      add(name.name, *op);
      add(name.name + "." + (name.overload_name.empty() ? kDefault : name.overload_name), *op);
    }
  }
}

void OperatorNames::add(const std::string& name, const c10::OperatorHandle& op) {
  const std::string short_name = name.starts_with(kAten) ? name.substr(kAten.size()) : name;
  for (const auto& each : short_name == name ? std::vector{name} : std::vector{name, short_name}) {
    meant_[spelling_ == Spelling::kVariable ? as_variable(each) : each].push_back(op);
  }
}

const std::vector<c10::OperatorHandle>& OperatorNames::find(const std::string& text) const {
  static const auto* none = new std::vector<c10::OperatorHandle>();
  const auto found = meant_.find(text);
  return found != meant_.end() ? found->second : *none;
}

std::string OperatorNames::nearest(std::string_view text) const {
  const char* mark = spelling_ == Spelling::kVariable ? "__" : ".";
  const bool has_overload = text.find(mark) != std::string_view::npos;
  const bool has_namespace = spelling_ == Spelling::kName && text.find("::") != std::string_view::npos;
  std::vector<std::string> names;
  for (const auto& [name, ops] : meant_) {
    if ((name.find(mark) != std::string::npos) == has_overload &&
        (name.find("::") != std::string::npos) == has_namespace) {
      names.push_back(name);
    }
  }
  return nearest_of(text, names);
}

std::optional<c10::OperatorHandle> find_overload(std::string_view name) {
  const std::string full(name.find("::") == std::string_view::npos ? std::string(kAten).append(name) : name);
  const size_t dot = full.find('.');
  const std::string overload = dot == std::string::npos ? "" : full.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchema({full.substr(0, dot), overload == kDefault ? "" : overload});
}

std::string nearest_of(std::string_view text, const std::vector<std::string>& names) {
  std::string_view nearest;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string& name : names) {
    const size_t distance = edit_distance(text.substr(0, kLongestName), name);
    if (distance < least) {
      least = distance;
      nearest = name;
    }
  }
  return std::string(nearest);
}

}  // namespace flagos::routing
