// From the folder in which a program records to the files that the user asked for.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "recording/recorded_traces.h"
#include "recording/watched_program.h"

namespace flagos::diag {

// A folder beside `trace`, on the same disk, that goes with this object.
class RecordingFolder {
 public:
  // Throws UsageError when no file could be made there, or when `trace` is something else than a file.
  explicit RecordingFolder(const std::filesystem::path& trace);
  ~RecordingFolder();
  RecordingFolder(const RecordingFolder&) = delete;
  RecordingFolder& operator=(const RecordingFolder&) = delete;
  RecordingFolder(RecordingFolder&&) = delete;
  RecordingFolder& operator=(RecordingFolder&&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// Moves the traces to their places, and says which went where. The program's own, or that with the most calls where it
// has none, becomes `trace` and comes first; the others get their process id before the extension. Where the program
// failed a `trace` that is there stays, and the new one has ".partial" before the extension.
std::vector<std::pair<std::filesystem::path, RecordedProcess>> publish_traces(
    const std::vector<RecordedProcess>& processes, const ProgramEnd& end, const std::filesystem::path& trace);

}  // namespace flagos::diag
