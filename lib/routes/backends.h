// What it takes to send an operator to a backend.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <string>
#include <string_view>

#include "flagos/routes.h"

namespace flagos::routing {

inline constexpr std::string_view kNative = "native";
inline constexpr std::string_view kNativeAlias = "cuda";
inline constexpr std::string_view kDispatch = "dispatch";
inline constexpr std::string_view kCpu = "cpu";
inline constexpr std::string_view kFlagGems = "flaggems";

// Why `op` can't be sent to the backend, or "" when it can. The texts go on from "add.Tensor can't go to cpu: ".
std::string dispatch_refusal(const c10::OperatorHandle& op);
std::string cpu_refusal(const c10::OperatorHandle& op);
std::string named_refusal(const c10::OperatorHandle& op);

// Send the operator there; to_native() undoes the others. The caller holds the routes' lock and has asked for a
// refusal.
void to_native(const c10::OperatorHandle& op);
void to_dispatch(const c10::OperatorHandle& op);
void to_cpu(const c10::OperatorHandle& op);
void to_named(const c10::OperatorHandle& op, std::string_view backend, const c10::KernelFunction& kernel);

}  // namespace flagos::routing
