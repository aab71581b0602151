// JSON of unknown origin.
#pragma once

#include <filesystem>
#include <string_view>

#include "report/report.h"

namespace flagos::diag {

// The value that `text` holds. Throws UsageError, which begins with `file` and ends with `remedy`, when it is not one
// JSON value, or nested or large beyond what this tool writes: copying and printing a value recurses, and to look up a
// field of a Row takes as long as it has fields. Any thread.
Row parse_bounded(std::string_view text, const std::filesystem::path& file, std::string_view remedy);

}  // namespace flagos::diag
