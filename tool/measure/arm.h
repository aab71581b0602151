// Arm: one way to make the same calls.
#pragma once

#include <c10/core/Device.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace flagos::diag {

struct Arm {
  std::string name;  // "native", "off", "on", "aa"
  c10::Device device = c10::Device(c10::DeviceType::CPU);
  std::optional<bool> redispatch;  // nothing for native
  double slowdown = 0;             // planted: 0.03 for 3% slower
};

// Note [Arms of a benchmark]
// native: tensors of the target. off, on: flagos tensors, the fast path forbidden and allowed. aa: the same as on, with
// tensors of its own; what it differs from on is noise.
// With `same`, off is on too: a run in which every claim but SAME is false.
struct ArmOptions {
  bool same = false;
  std::map<std::string, double> slowdown;  // by name, see Arm; aa has that of on
};
std::vector<Arm> make_arms(const ArmOptions& options);

// Which arm is compared with which: a ratio is arm over against.
struct ArmPair {
  const char* arm;
  const char* against;
};
inline constexpr ArmPair kArmPairs[] = {{"off", "native"}, {"on", "native"}, {"on", "off"}, {"aa", "on"}};

}  // namespace flagos::diag
