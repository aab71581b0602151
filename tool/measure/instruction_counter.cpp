#include "measure/instruction_counter.h"

namespace flagos::diag {

const char* counting_name(CountingMethod method) noexcept {
  return method == CountingMethod::kPerf ? "perf" : "callgrind";
}

std::optional<CountingMethod> counting_method(std::string_view name) {
  for (const CountingMethod method : {CountingMethod::kPerf, CountingMethod::kCallgrind}) {
    if (name == counting_name(method)) {
      return method;
    }
  }
  return std::nullopt;
}

}  // namespace flagos::diag
