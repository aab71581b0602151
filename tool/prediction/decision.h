// Decision: how a call of an operator is carried out, and what decided it.
#pragma once

#include <c10/core/DispatchKey.h>

#include <string>

#include "flagos/redispatch.h"
#include "flagos/stats.h"

namespace flagos::diag {

enum class Verdict { kFast, kFull, kView, kComposite, kFallback, kError, kNotApplicable, kUnknown };

// "fast", "full", "view", "composite", "fallback", "error", "n/a", "unknown".
const char* verdict_name(Verdict verdict) noexcept;

struct Decision {
  Verdict verdict = Verdict::kUnknown;
  Reason reason = Reason::kNone;
  c10::DispatchKey key = c10::DispatchKey::Undefined;  // what decided a refusal; Undefined when no key did

  bool operator==(const Decision& other) const = default;
};

// "fast", or "full FP-CONJ Conjugate".
std::string decision_text(const Decision& decision);

}  // namespace flagos::diag
