#include "prediction/operator_facts.h"

#include <algorithm>
#include <cctype>
#include <string>

namespace flagos::diag {

c10::OperatorHandle operator_handle(std::string_view op) {
  const std::string name = op.find("::") == std::string_view::npos ? "aten::" + std::string(op) : std::string(op);
  const size_t dot = name.find('.', name.find("::"));
  const std::string overload = dot == std::string::npos ? "" : name.substr(dot + 1);
  return c10::Dispatcher::singleton().findSchemaOrThrow(name.substr(0, dot).c_str(), overload.c_str());
}

std::optional<Reason> reason_of(std::string_view code) {
  std::string wanted(code);
  std::transform(wanted.begin(), wanted.end(), wanted.begin(), [](unsigned char c) { return std::toupper(c); });
  if (!wanted.starts_with("FP-")) {
    wanted = "FP-" + wanted;
  }
  for (size_t i = 1; i < static_cast<size_t>(Reason::kCount); ++i) {
    const auto reason = static_cast<Reason>(i);
    if (wanted == reason_code(reason)) {
      return reason;
    }
  }
  return std::nullopt;
}

}  // namespace flagos::diag
