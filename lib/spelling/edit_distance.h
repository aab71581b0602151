// How far apart two names are. The library and the tool both suggest names; header-only, so that no symbol of the
// library need be visible for it.
#pragma once

#include <algorithm>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

namespace flagos {

// Insertions, deletions, replacements, and exchanges of neighbours that turn `from` into `to` (optimal string
// alignment).
inline size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<size_t> before(to.size() + 1);
  std::vector<size_t> row(to.size() + 1);
  std::vector<size_t> next(to.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < from.size(); ++i) {
    next[0] = i + 1;
    for (size_t j = 0; j < to.size(); ++j) {
      next[j + 1] = std::min({row[j + 1] + 1, next[j] + 1, row[j] + (from[i] == to[j] ? 0U : 1U)});
      if (i > 0 && j > 0 && from[i] == to[j - 1] && from[i - 1] == to[j]) {
        next[j + 1] = std::min(next[j + 1], before[j - 1] + 1);
      }
    }
    before = std::exchange(row, std::exchange(next, before));
  }
  return row[to.size()];
}

}  // namespace flagos
