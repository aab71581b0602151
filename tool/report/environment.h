// The environment that results hold for.
#pragma once

#include <cstdint>
#include <string>

#include "report/report.h"

namespace flagos::diag {

// torch, library, compiler, build, target, devices, driver, cpu, governor, seed. What can't be told is null.
Row describe_environment(uint64_t seed);

// Version of the torch that runs, as "2.11.0"; of the one this tool was compiled against.
std::string running_torch_version();
std::string built_torch_version();

// The frequency governor of the first processor; empty where there is none.
std::string cpu_governor();

// "cpu" or "cuda".
std::string target_name();

}  // namespace flagos::diag
