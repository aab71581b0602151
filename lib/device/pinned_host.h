// "Pinned" memory of the CPU target, whose device memory is the host's.
#pragma once

#include <c10/core/Allocator.h>

namespace flagos::device {

// Host memory from PyTorch's CPU allocator that is_pinned_host() knows again. Nothing is pinned: there is no device to
// pin for, but programs that pin and ask whether it worked (DDP's reducer) go on. Lives forever; any thread.
c10::Allocator* pinned_host_allocator();

// Whether `data` is the beginning of a block of that allocator which is still allocated. Any thread.
bool is_pinned_host(const void* data);

}  // namespace flagos::device
