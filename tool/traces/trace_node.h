// One node of an execution trace, from JSON to a CallRecord.
#pragma once

#include <nlohmann/json.hpp>

#include <map>
#include <optional>
#include <stdexcept>
#include <string>

#include "traces/call_record.h"

namespace flagos::diag {

// The file contradicts itself; reading stops. The message says what is wrong, the caller adds file and node.
struct BadTrace : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The node is sound, but can't be replayed here; reading goes on. The message is the cause, without the node.
struct NotReplayable : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The call recorded in `node`, or nothing for a node without an operator's schema (autograd functions, threads, user
// annotations). `origin` is left empty. Throws BadTrace or NotReplayable.
std::optional<CallRecord> call_of_node(const nlohmann::json& node);

}  // namespace flagos::diag
