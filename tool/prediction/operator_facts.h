// What the dispatcher and the library know of an operator.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

#include <optional>
#include <string_view>

#include "flagos/redispatch.h"

namespace flagos::diag {

// "add.Tensor" or "aten::add.Tensor". Throws c10::Error when there is no such operator.
c10::OperatorHandle operator_handle(std::string_view op);

// "FP-CONJ", in any case, also without "FP-".
std::optional<Reason> reason_of(std::string_view code);

}  // namespace flagos::diag
