#include "situations/situation.h"

#include <algorithm>

namespace flagos::diag {
namespace {

constexpr std::array<const char*, kSituations.size()> kNames = {"plain",         "conj",     "neg",    "zerotensor",
                                                                "functionalize", "vmap",     "grad",   "no_grad",
                                                                "inference",     "autocast", "python", "off"};

}  // namespace

const char* situation_name(Situation situation) noexcept { return kNames.at(static_cast<size_t>(situation)); }

std::optional<Situation> situation_of(std::string_view name) noexcept {
  const auto* const found = std::find(kNames.begin(), kNames.end(), name);
  return found != kNames.end() ? std::optional(kSituations.at(static_cast<size_t>(found - kNames.begin())))
                               : std::nullopt;
}

bool handled_above_kernel(Situation situation) noexcept {
  switch (situation) {
    case Situation::kConj:
    case Situation::kNeg:
    case Situation::kZeroTensor:
    case Situation::kFunctionalize:
    case Situation::kVmap:
    case Situation::kPython:
      return true;
    default:
      return false;
  }
}

}  // namespace flagos::diag
