// Situation: a state of the dispatcher or of the arguments in which an operator is called.
#pragma once

#include <array>
#include <optional>
#include <string_view>

namespace flagos::diag {

enum class Situation {
  kPlain,
  kConj,           // a lazily conjugated argument
  kNeg,            // a lazily negated argument
  kZeroTensor,     // an efficient zero tensor
  kFunctionalize,  // arguments in functionalization wrappers
  kVmap,           // arguments batched by functorch
  kGrad,           // floating-point arguments require grad
  kNoGrad,         // the same under NoGradGuard
  kInference,      // inference mode, arguments made in it
  kAutocast,       // autocast on for flagos
  kPython,         // a TorchDispatchMode
  kOff,            // the kill switch
};

inline constexpr std::array kSituations = {Situation::kPlain,      Situation::kConj,          Situation::kNeg,
                                           Situation::kZeroTensor, Situation::kFunctionalize, Situation::kVmap,
                                           Situation::kGrad,       Situation::kNoGrad,        Situation::kInference,
                                           Situation::kAutocast,   Situation::kPython,        Situation::kOff};

const char* situation_name(Situation situation) noexcept;
std::optional<Situation> situation_of(std::string_view name) noexcept;

// Whether PyTorch deals with the situation above the kernels of a device. A normal call then reaches the flagos kernel
// without it, and only a caller that redispatches below those keys brings it there.
bool handled_above_kernel(Situation situation) noexcept;

}  // namespace flagos::diag
