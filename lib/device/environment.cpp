#include "device/environment.h"

#include <c10/util/Exception.h>

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

// The value as it can be shown: at most 64 bytes, what is not printable ASCII replaced by '?'.
std::string printable(std::string_view value) {
  std::string shown(value.substr(0, 64));
  for (char& c : shown) {
    if (c < ' ' || c > '~') {
      c = '?';
    }
  }
  return value.size() > 64 ? shown + "..." : shown;
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

Environment read_environment() {
  Environment read;
  read.disabled = read_switch("FLAGOS_DISABLE");
  read.redispatch_off = read_switch("FLAGOS_NO_REDISPATCH");
  read.log_dispatch = read_switch("FLAGOS_LOG_DISPATCH");
  read.log_fallback = read_switch("FLAGOS_LOG_FALLBACK");
  read.target = read_choice("FLAGOS_TARGET", TargetChoice::kAuto, kTargets);
  read.fallback = read_choice("FLAGOS_FALLBACK", FallbackPolicy::kWarn, kFallbacks);
  return read;
}

const Environment& environment() {
  static const Environment settings = read_environment();
  return settings;
}

}  // namespace flagos
