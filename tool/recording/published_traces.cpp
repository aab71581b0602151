#include "recording/published_traces.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "cli/exit_code.h"
#include "report/output_file.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

// "run.json" and "partial" make "run.partial.json".
fs::path with_mark(const fs::path& file, const std::string& mark) {
  return file.parent_path() / (file.stem().string() + "." + mark + file.extension().string());
}

}  // namespace

RecordingFolder::RecordingFolder(const fs::path& trace) {
  check_output_file(trace);
  if (trace.empty() || (fs::exists(trace) && !fs::is_regular_file(trace))) {
    throw UsageError(fmt::format("--output {}: a trace needs a regular file.", trace.string()));
  }
  const fs::path parent = fs::absolute(trace).parent_path();
  std::string name = (parent / fmt::format(".{}.XXXXXX", trace.filename().string())).string();
  if (mkdtemp(name.data()) == nullptr) {
    throw UsageError(fmt::format("--output {}: {}: {}.", trace.string(), parent.string(), std::strerror(errno)));
  }
  path_ = fs::canonical(name);
}

RecordingFolder::~RecordingFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::vector<std::pair<fs::path, RecordedProcess>> publish_traces(const std::vector<RecordedProcess>& processes,
                                                                 const ProgramEnd& end, const fs::path& trace) {
  std::vector<RecordedProcess> recorded;
  std::copy_if(processes.begin(), processes.end(), std::back_inserter(recorded),
               [](const RecordedProcess& process) { return !process.trace.empty(); });
  // A launcher imports torch and computes nothing; a child that only loads data has few calls.
  std::stable_sort(recorded.begin(), recorded.end(), [&](const RecordedProcess& a, const RecordedProcess& b) {
    const bool a_own = a.pid == end.pid && a.calls > 0;
    const bool b_own = b.pid == end.pid && b.calls > 0;
    return a_own != b_own ? a_own : a.calls > b.calls;
  });
  const fs::path first = end.code != 0 && fs::exists(trace) ? with_mark(trace, "partial") : trace;
  std::vector<std::pair<fs::path, RecordedProcess>> published;
  for (const RecordedProcess& process : recorded) {
    if (!published.empty() && process.calls == 0) {
      continue;
    }
    const fs::path wanted = published.empty() ? first : with_mark(first, std::to_string(process.pid));
    fs::rename(process.trace, fs::exists(wanted) ? fs::canonical(wanted) : wanted);  // a symbolic link stays one
    published.emplace_back(wanted, process);
  }
  return published;
}

}  // namespace flagos::diag
