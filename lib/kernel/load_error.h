// The error that kept the library from registering itself.
#pragma once

#include <string>

namespace flagos::kernel {

// Null when loading succeeded. Lives for the whole process. Any thread.
const std::string* load_error() noexcept;

}  // namespace flagos::kernel
