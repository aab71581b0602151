// A recorded call as one line of text, in the form of an execution trace.
#pragma once

#include <string>
#include <string_view>

#include "traces/call_record.h"

namespace flagos::diag {

// The arguments as the "inputs" of a node in an execution trace, with its tensor_range beside them,
// without the strides where all tensors are contiguous, tensors and storages numbered anew:
//   {"shapes":[[2],[]],"types":["Tensor(float)","Int"],"values":[[1,1,0,2,4,"cpu"],3]}
std::string call_text(const CallRecord& call);

// The call of `op` ("aten::mm") with these arguments; strides and tensor_range may be left out. Throws
// std::runtime_error with what is wrong with the text.
CallRecord call_of_text(const std::string& op, std::string_view text);

}  // namespace flagos::diag
