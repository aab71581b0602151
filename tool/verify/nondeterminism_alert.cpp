#include "verify/nondeterminism_alert.h"

#include <ATen/Context.h>
#include <c10/util/Exception.h>

#include <string_view>

namespace flagos::diag {
namespace {

// See Context::alertNotDeterministic(). Subjects of the message: "put_ does not have a deterministic implementation".
constexpr std::string_view kAlert = " does not have a deterministic implementation";

class AlertHandler final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    const std::string& text = warning.msg();
    const size_t alert = text.find(kAlert);
    if (alert != std::string::npos && named_.empty()) {
      named_ = text.substr(0, alert);
    }
  }
  const std::string& named() const { return named_; }

 private:
  std::string named_;
};

class DeterministicAlgorithms {
 public:
  DeterministicAlgorithms()
      : before_(at::globalContext().deterministicAlgorithms()),
        warn_only_before_(at::globalContext().deterministicAlgorithmsWarnOnly()) {
    at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  }
  ~DeterministicAlgorithms() { at::globalContext().setDeterministicAlgorithms(before_, warn_only_before_); }
  DeterministicAlgorithms(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms& operator=(const DeterministicAlgorithms&) = delete;
  DeterministicAlgorithms(DeterministicAlgorithms&&) = delete;
  DeterministicAlgorithms& operator=(DeterministicAlgorithms&&) = delete;

 private:
  bool before_;
  bool warn_only_before_;
};

}  // namespace

std::string nondeterminism_alert(const std::function<void()>& call) {
  AlertHandler handler;
  const DeterministicAlgorithms asked_for;
  const c10::WarningUtils::WarningHandlerGuard guard(&handler);
  try {
    call();
  } catch (const std::exception&) {
    // what it said before still holds
  }
  return handler.named();
}

}  // namespace flagos::diag
