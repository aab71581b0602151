// PyTorch's profiler on flagos: its events are the target's.
#pragma once

namespace flagos::device {

// Registers what torch.autograd.profiler.profile(use_device="flagos") measures with. Called once, at load.
void register_profiler();

}  // namespace flagos::device
