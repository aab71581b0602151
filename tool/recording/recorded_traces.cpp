#include "recording/recorded_traces.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kSchemaAttribute = "\"name\": \"op_schema\"";
constexpr std::string_view kEmpty = "\"value\": \"\"";

// Lines with a schema are operators; the observer writes an attribute list a line. Reading JSON of hundreds of
// megabytes only to count would take as long as recording it.
size_t count_calls(const fs::path& trace) {
  std::ifstream in(trace);
  size_t calls = 0;
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(kSchemaAttribute);
    if (at != std::string::npos) {
      const size_t value = line.find("\"value\": ", at);
      calls += value != std::string::npos && line.compare(value, kEmpty.size(), kEmpty) != 0 ? 1 : 0;
    }
  }
  return calls;
}

std::string text(const Json& status, const char* name) {
  const auto found = status.find(name);
  return found != status.end() && found->is_string() ? found->get<std::string>() : "";
}

RecordedProcess read_process(const fs::path& file) {
  std::ifstream in(file);
  const Json status = Json::parse(in);
  RecordedProcess process;
  process.pid = status.at("pid").get<int>();
  process.python = text(status, "python");
  process.command = text(status, "command");
  process.torch = text(status, "torch");
  process.has_torch = status.at("has_torch").get<bool>();
  process.steps = status.at("steps").get<unsigned>();
  process.skipped = status.at("skipped").get<unsigned>();
  process.ended = text(status, "ended");
  process.error = text(status, "error");
  const fs::path trace = fs::path(file).replace_extension(".json");
  if (process.error.empty() && fs::exists(trace)) {
    process.trace = trace;
    process.calls = count_calls(trace);
  }
  return process;
}

}  // namespace

std::vector<RecordedProcess> recorded_processes(const fs::path& folder) {
  std::vector<RecordedProcess> processes;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".status") {
      processes.push_back(read_process(entry.path()));
    }
  }
  std::sort(processes.begin(), processes.end(), [](const auto& a, const auto& b) { return a.pid < b.pid; });
  return processes;
}

size_t unfinished_traces(const fs::path& folder) {
  size_t count = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const bool trace = entry.path().extension() == ".json";
    count += trace && !fs::exists(fs::path(entry.path()).replace_extension(".status")) ? 1 : 0;
  }
  return count;
}

}  // namespace flagos::diag
