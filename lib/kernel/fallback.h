// The boxed stack fallback: operators that have no flagos kernel of their own.
#pragma once

namespace flagos::kernel {

// Note [Fallbacks]
// PyTorch asks the fallback of PrivateUse1 (and of its sparse, compressed sparse, quantized and nested kin) for every
// operator without a kernel there and without a composite one: operators outside aten, and special layouts.
//  - Where the target has a kernel, the call is boxed as any other; third-party operators work by that.
//  - Where it has none, FLAGOS_FALLBACK=error|warn|allow decides whether the call runs on the CPU, by copies. Views,
//    factories and random numbers never do: a copy would break aliasing, and another generator's numbers are others.

// Registers the fallbacks. Called once, while the library is loaded.
void register_fallbacks();

// Registers a stack kernel for every operator that the target has a kernel of its own for at a special layout's key: a
// composite would else win over the fallback. Called once, while the library is loaded, after the boxed operators.
void register_special_layouts();

}  // namespace flagos::kernel
