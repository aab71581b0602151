// clone() and _to_copy() on the fast path.
#pragma once

namespace flagos::ops {

// Gives the two operators shorter ways to the target's kernels; see Note [Copies]. After the boxed kernels are
// registered.
void shorten_copies();

}  // namespace flagos::ops
