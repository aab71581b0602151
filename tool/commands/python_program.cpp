#include "commands/python_program.h"

#include <fmt/format.h>

#include <array>
#include <cstdio>

#include "cli/build_places.h"
#include "cli/shell_word.h"
#include "report/environment.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScript = "python_mode.py";
constexpr const char* kWorkerLibrary = "libflagos-diag-worker.so";

// The version of the torch that `python` imports, without a local label ("+cu130"); empty: none.
std::string torch_of(const std::string& python) {
  const std::string command =
      shell_word(python) + " -c 'import torch; print(torch.__version__.split(\"+\")[0])' 2>/dev/null";
  FILE* output = popen(command.c_str(), "r");
  if (output == nullptr) {
    return "";
  }
  std::array<char, 64> line{};
  std::string version = fgets(line.data(), line.size(), output) != nullptr ? line.data() : "";
  pclose(output);
  while (!version.empty() && version.back() == '\n') {
    version.pop_back();
  }
  return version;
}

}  // namespace

std::optional<fs::path> find_beside_program(const char* name) {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& directory : {here, here.parent_path() / FLAGOS_DIAG_LIBEXEC}) {
    if (fs::exists(directory / name, error)) {
      return directory / name;
    }
  }
  return std::nullopt;
}

PythonProgram find_python_program() {
  const auto script = find_beside_program(kScript);
  const auto library = find_beside_program(kWorkerLibrary);
  if (!script.has_value() || !library.has_value()) {
    return {{}, fmt::format("{} is not beside flagos-diag", script.has_value() ? kWorkerLibrary : kScript)};
  }
  const std::string wanted = running_torch_version();
  std::string seen;
  for (const std::string& python : pythons()) {
    const std::string version = torch_of(python);
    if (version == wanted) {
      return {{python, script->string(), library->string()}, ""};
    }
    seen += version.empty() ? "" : fmt::format(" ({} has {})", python, version);
  }
  return {{}, fmt::format("no Python with torch {} was found{}", wanted, seen)};
}

}  // namespace flagos::diag
