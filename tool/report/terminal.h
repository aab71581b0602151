// What the terminal can do.
#pragma once

#include <cstddef>

namespace flagos::diag {

enum class ColorChoice { kAuto, kAlways, kNever };

// Whether to colour what goes to file descriptor `fd`. `auto` is a terminal whose TERM is not "dumb", without a
// non-empty NO_COLOR (https://no-color.org).
bool use_color(ColorChoice choice, int fd);

// Columns of the terminal at `fd`; 0 when it is none.
size_t terminal_width(int fd);

bool is_terminal(int fd);

}  // namespace flagos::diag
