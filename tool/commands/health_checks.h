// The checks of doctor.
#pragma once

#include <string>
#include <vector>

namespace flagos::diag {

enum class Health { kOk, kWarn, kFail };

struct Finding {
  std::string check;
  Health health = Health::kOk;
  std::string found;   // what was seen
  std::string remedy;  // empty when there is nothing to do
};

Finding check_torch_version();
Finding check_abi();
Finding check_library();
Finding check_target();
Finding check_duplicate_cudart(const std::vector<std::string>& loaded);
Finding check_rpath(const std::vector<std::string>& loaded);
Finding check_driver();
Finding check_nvidia_libraries(const std::vector<std::string>& loaded);
Finding check_environment_variables(const std::vector<std::string>& environment);

// The different shared objects mapped into this process, sorted.
std::vector<std::string> loaded_objects();

}  // namespace flagos::diag
