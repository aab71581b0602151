// Copies of a call's host arguments on the device under test.
#pragma once

#include "situations/argument_tensors.h"

namespace flagos::diag {

// The arguments with each tensor copied to `device`, bytes and layout alike; tensors that share a storage share one
// again. Device arguments become `device`. A tensor that the operator reads on the host is copied, but stays there.
Stack copy_arguments(const Stack& arguments, const c10::FunctionSchema& schema, c10::Device device);

}  // namespace flagos::diag
