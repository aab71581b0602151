// The operators of torch.distributed, `c10d::`.
#pragma once

namespace flagos::ops {

// Note [Collectives]
// PyTorch has kernels of its own for these operators at PrivateUse1: each asks the process group for the backend of
// flagos and hands it flagos tensors, which gloo and NCCL refuse. One boxed kernel takes their place. It shows the
// backend the target's view of each tensor, and calls
//  - PyTorch's PrivateUse1 kernel, where the group has a backend for flagos: that is the one it finds;
//  - the target's kernel, where the group knows the target alone.
// So the backend is whichever the group was made with, and nothing of it is linked here.
//  - A backend works on its tensors from other threads, after the call has returned. They are therefore shallow copies
//    that own what they share, never pooled aliases (see Note [Boxed aliases]), which are bound anew for the next call.
//  - Results are the caller's tensors, also those that come later, by the Work or its future: DDP makes the gradients
//    of parameters from the future's value.
//  - A sparse result replaces what the tensor holds, so the caller's tensor is given it once the Work is done.

// Registers the kernel for each of these operators that PyTorch has one for; for none in a torch built without them.
// Called once, while the library is loaded, before kernel::register_special_layouts().
void register_collectives();

}  // namespace flagos::ops
