// Reader of PyTorch execution traces (torch.profiler.ExecutionTraceObserver, the Chakra schema).
#pragma once

#include <filesystem>
#include <functional>
#include <istream>
#include <string>
#include <vector>

#include "traces/call_record.h"

namespace flagos::diag {

using TakeCall = std::function<void(CallRecord&&)>;

// Reads the calls of operators in a trace, one node at a time, and hands each to `take` in the order of the file.
// Returns warnings: a newer schema, and calls passed over, counted by cause (operators that this torch doesn't have,
// tensors that a trace can't describe, nodes of a newer schema that make no sense in the known one). Throws
// std::runtime_error naming the file, the node and the remedy for a file that can't be read, is larger than 2 GiB, is
// no trace, or is of the known schema and contradicts itself.
std::vector<std::string> read_execution_trace(const std::filesystem::path& file, const TakeCall& take);

// The same from a stream; `name` stands for the file in messages.
std::vector<std::string> read_execution_trace(std::istream& input, const std::string& name, const TakeCall& take);

}  // namespace flagos::diag
