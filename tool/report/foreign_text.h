// Text of unknown origin, as a message can show it.
#pragma once

#include <string>
#include <string_view>

namespace flagos::diag {

// At most `limit` bytes of `text`, with '?' for what is not printable ASCII: a terminal obeys escape sequences.
inline std::string foreign_text(std::string_view text, size_t limit = 60) {
  std::string shown(text.substr(0, limit));
  for (char& c : shown) {
    if (c < ' ' || c > '~') {
      c = '?';
    }
  }
  return text.size() > limit ? shown + "..." : shown;
}

}  // namespace flagos::diag
