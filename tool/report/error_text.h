// The part of an exception's text that a person wants to read.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace flagos::diag {

// The first line of `text`, without c10's "Exception raised from ...".
std::string first_line(std::string_view text);

// The first line of the exception's message, without a C++ backtrace.
std::string error_text(const std::exception& error);

}  // namespace flagos::diag
