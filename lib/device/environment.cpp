#include "device/environment.h"

#include <c10/util/Exception.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

namespace flagos {
namespace {

// A switch: set to anything but "0" is on. An empty value counts as not set, as shells can't always unset.
bool read_switch(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

// The variables FLAGOS_OP_<name>. As for the others, an empty value counts as not set.
std::vector<std::pair<std::string, std::string>> read_op_routes() {
  constexpr std::string_view kPrefix = "FLAGOS_OP_";
  std::vector<std::pair<std::string, std::string>> read;
  for (char** each = ::environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view assignment(*each);
    const size_t equals = assignment.find('=');
    if (assignment.starts_with(kPrefix) && equals != std::string_view::npos && equals + 1 < assignment.size()) {
      read.emplace_back(assignment.substr(kPrefix.size(), equals - kPrefix.size()), assignment.substr(equals + 1));
    }
  }
  std::sort(read.begin(), read.end());
  return read;
}

template <class T, size_t N>
T read_choice(const char* name, T fallback, const std::array<std::pair<std::string_view, T>, N>& choices) {
  const char* value = std::getenv(name);
  if (value == nullptr || *value == '\0') {
    return fallback;
  }
  std::string allowed;
  for (const auto& [text, choice] : choices) {
    if (text == value) {
      return choice;
    }
    allowed += (allowed.empty() ? "" : ", ") + std::string(text);
  }
  C10_THROW_ERROR(Error, c10::str("flagos: ", name, "=\"", printable(value), "\" is not understood. Set it to one of ",
                                  allowed, ", or unset it."));
}

constexpr std::array<std::pair<std::string_view, TargetChoice>, 3> kTargets{
    {{"auto", TargetChoice::kAuto}, {"cpu", TargetChoice::kCpu}, {"cuda", TargetChoice::kCuda}}};
constexpr std::array<std::pair<std::string_view, FallbackPolicy>, 3> kFallbacks{
    {{"error", FallbackPolicy::kError}, {"warn", FallbackPolicy::kWarn}, {"allow", FallbackPolicy::kAllow}}};

}  // namespace

std::string printable(std::string_view text, size_t limit) {
  std::string shown(text.substr(0, limit));
  for (char& c : shown) {
    if (c < ' ' || c > '~') {
      c = '?';
    }
  }
  return text.size() > limit ? shown + "..." : shown;
}

Environment read_environment() {
  Environment read;
  read.disabled = read_switch("FLAGOS_DISABLE");
  read.redispatch_off = read_switch("FLAGOS_NO_REDISPATCH");
  read.log_dispatch = read_switch("FLAGOS_LOG_DISPATCH");
  read.log_fallback = read_switch("FLAGOS_LOG_FALLBACK");
  read.target = read_choice("FLAGOS_TARGET", TargetChoice::kAuto, kTargets);
  read.fallback = read_choice("FLAGOS_FALLBACK", FallbackPolicy::kWarn, kFallbacks);
  const char* config = std::getenv("FLAGOS_BACKEND_CONFIG");
  read.backend_config = config == nullptr ? "" : config;
  read.op_routes = read_op_routes();
  return read;
}

const Environment& environment() {
  static const Environment settings = read_environment();
  return settings;
}

}  // namespace flagos
