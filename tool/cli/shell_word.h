// Text as one word of a POSIX shell.
#pragma once

#include <string>

namespace flagos::diag {

// `text` as it is when no character in it means anything to a shell, else in single quotes.
std::string shell_word(const std::string& text);

}  // namespace flagos::diag
