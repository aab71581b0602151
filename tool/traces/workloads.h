// Workloads: bundled traces of models.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace flagos::diag {

// "qwen3-decode" and so on, sorted: the traces that are there.
std::vector<std::string> workload_names();
// The same as text: "qwen3-decode, unet2d-block".
std::string workload_names_text();

// The trace file of a workload. Throws UsageError with the names there are for an unknown one.
std::filesystem::path find_workload(std::string_view name);

}  // namespace flagos::diag
