#include "prediction/decision.h"

#include <fmt/format.h>

namespace flagos::diag {

const char* verdict_name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kFast:
      return "fast";
    case Verdict::kFull:
      return "full";
    case Verdict::kView:
      return "view";
    case Verdict::kComposite:
      return "composite";
    case Verdict::kFallback:
      return "fallback";
    case Verdict::kError:
      return "error";
    case Verdict::kNotApplicable:
      return "n/a";
    case Verdict::kUnknown:
      break;
  }
  return "unknown";
}

std::string decision_text(const Decision& decision) {
  std::string text = verdict_name(decision.verdict);
  if (decision.reason != Reason::kNone) {
    text += fmt::format(" {}", reason_code(decision.reason));
  }
  if (decision.key != c10::DispatchKey::Undefined) {
    text += fmt::format(" {}", c10::toString(decision.key));
  }
  return text;
}

}  // namespace flagos::diag
