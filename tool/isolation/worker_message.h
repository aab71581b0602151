// One line of a worker's answers; see Note [Worker protocol].
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

#include "report/report.h"

namespace flagos::diag {

struct WorkerMessage {
  enum class Kind { kBegin, kStage, kRow, kDone };
  Kind kind = Kind::kDone;
  std::string text;    // what has begun, the stage, or the operator that is done
  Row row = nullptr;   // of kRow: an object
  bool spent = false;  // of kDone: the worker can't go on
};

struct NoMessage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Throws NoMessage when `line` is no message: an operator may write over the worker's memory or its pipe.
// Any thread.
WorkerMessage parse_message(std::string_view line);

}  // namespace flagos::diag
