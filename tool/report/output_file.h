// Where a report goes: standard output, or a file that is replaced whole or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <ostream>

namespace flagos::diag {

// Throws UsageError when `file` could not be written: no such directory, no permission, a directory of that name.
void check_output_file(const std::filesystem::path& file);

// Calls `write` with a stream to a temporary file beside `file`, or beside where a symbolic link leads, then renames
// it; an existing file's permissions stay. On any failure `file` is as it was and the temporary one is gone; throws
// std::runtime_error. An existing file that is not a regular one (a pipe, /dev/stdout) is written straight. An empty
// path means standard output.
void write_output(const std::filesystem::path& file, const std::function<void(std::ostream&)>& write);

}  // namespace flagos::diag
