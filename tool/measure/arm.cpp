#include "measure/arm.h"

#include "flagos/target.h"

namespace flagos::diag {

std::vector<Arm> make_arms(const ArmOptions& options) {
  const c10::Device ours(c10::DeviceType::PrivateUse1, 0);
  std::vector<Arm> arms = {{"native", to_target_device(ours), std::nullopt, 0},
                           {"off", ours, options.same, 0},
                           {"on", ours, true, 0},
                           {"aa", ours, true, 0}};
  for (Arm& arm : arms) {
    const auto planted = options.slowdown.find(arm.name == "aa" ? "on" : arm.name);
    arm.slowdown = planted != options.slowdown.end() ? planted->second : 0;
  }
  return arms;
}

}  // namespace flagos::diag
