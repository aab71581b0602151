#include "verify/call_results.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>
#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "flagos/target.h"
#include "verify/normalized_error.h"

namespace flagos::diag {
namespace {

std::string text_of(const c10::IValue& value) {
  std::ostringstream text;
  text.precision(17);
  text << value;
  return normalized_error(text.str(), target_device_type());
}

}  // namespace

void take_results(const torch::jit::Stack& results, CallOutcome& outcome) {
  for (const c10::IValue& value : results) {
    if (value.isTensor()) {
      outcome.outputs.push_back(value.toTensor());
    } else if (value.isTensorList()) {
      const auto list = value.toTensorVector();
      outcome.outputs.insert(outcome.outputs.end(), list.begin(), list.end());
      outcome.values.push_back(fmt::format("a list of {}", list.size()));
    } else {
      outcome.values.push_back(text_of(value));
    }
  }
}

void take_out_of_wrappers(CallOutcome& outcome) {
  const auto plain = [&](at::Tensor& tensor) {
    if (!tensor.defined()) {
      return;
    }
    if (at::functionalization::impl::isFunctionalTensor(tensor)) {
      outcome.values.emplace_back("functional");
      at::functionalization::impl::sync(tensor);
      tensor = at::functionalization::impl::from_functional_tensor(tensor);
    }
    if (tensor._is_zerotensor()) {
      outcome.values.emplace_back("a zero tensor");
      tensor = at::zeros(tensor.sizes(), tensor.options());
    }
  };
  std::for_each(outcome.inputs.begin(), outcome.inputs.end(), plain);
  std::for_each(outcome.outputs.begin(), outcome.outputs.end(), plain);
}

}  // namespace flagos::diag
