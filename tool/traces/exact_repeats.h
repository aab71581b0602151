// What makes two recorded calls the same call.
#pragma once

#include <string>

#include "traces/call_record.h"

namespace flagos::diag {

// Equal for calls of one operator that neither the dispatcher nor a kernel can tell apart: same layouts, dtypes,
// scalars and ranges, and the same arguments sharing storages. Ids and origin don't count.
std::string repeat_key(const CallRecord& call);

}  // namespace flagos::diag
