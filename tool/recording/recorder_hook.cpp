#include "recording/recorder_hook.h"

#include <fmt/format.h>

#include <cstdlib>

#include "cli/exit_code.h"
#include "commands/python_program.h"

namespace flagos::diag {
namespace {

constexpr const char* kHook = "recording/hook";
constexpr const char* kPath = "PYTHONPATH";

}  // namespace

Variables recorder_variables(const std::filesystem::path& folder) {
  const auto hook = find_beside_program(kHook);
  if (!hook.has_value()) {
    throw UsageError(fmt::format("{} is not beside flagos-diag. Build or install the tool again.", kHook));
  }
  const char* path = std::getenv(kPath);
  std::string paths = hook->string();
  paths += path != nullptr && *path != '\0' ? fmt::format(":{}", path) : "";
  return {{kPath, paths},
          {"FLAGOS_RECORD_FOLDER", folder.string()},
          // Read by torch when the recording starts: the range of each tensor of integers.
          {"ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE", "1"}};
}

}  // namespace flagos::diag
