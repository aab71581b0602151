#include "traces/workloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <system_error>

#include "cli/exit_code.h"
#include "traces/bundled_files.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFolder = "workloads";

std::vector<fs::path> trace_files() {
  std::vector<fs::path> files;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(find_bundled(kFolder).value_or(fs::path()), error)) {
    if (entry.path().extension() == ".json") {
      files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const fs::path& file : trace_files()) {
    names.push_back(file.stem().string());
  }
  return names;
}

std::string workload_names_text() { return fmt::format("{}", fmt::join(workload_names(), ", ")); }

fs::path find_workload(std::string_view name) {
  for (const fs::path& file : trace_files()) {
    if (file.stem().string() == name) {
      return file;
    }
  }
  throw UsageError(fmt::format("no workload is named '{}'; there are: {}.", name, workload_names_text()));
}

}  // namespace flagos::diag
