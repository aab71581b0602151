// What PyTorch itself says of an operator: whether it is deterministic.
#pragma once

#include <functional>
#include <string>

namespace flagos::diag {

// Makes `call` with deterministic algorithms asked for, but not required (torch.use_deterministic_algorithms(True,
// warn_only=True)), and returns what PyTorch names nondeterministic in its warning, usually an operator or kernel;
// empty when it names none, also when the call throws. The process's setting is as before afterwards; no other thread
// may change it or ask for it meanwhile.
std::string nondeterminism_alert(const std::function<void()>& call);

}  // namespace flagos::diag
