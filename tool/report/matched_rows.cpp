#include "report/matched_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace flagos::diag {
namespace {

constexpr size_t kNamed = 5;  // of the results that only one run has

void note_missing(const RowsByKey& from, const RowsByKey& in, const char* name, const char* run,
                  ComparedRuns& compared) {
  size_t count = 0;
  std::vector<std::string> named;
  for (const auto& [key, row] : from) {
    if (in.contains(key)) {
      continue;
    }
    if (++count <= kNamed) {
      std::vector<std::string> parts;
      std::copy_if(key.begin(), key.end(), std::back_inserter(parts), [](const auto& part) { return !part.empty(); });
      named.push_back(fmt::format("{}", fmt::join(parts, " ")));
    }
  }
  compared.summary[name] = count;
  if (count != 0) {
    compared.notes.push_back(fmt::format("Only the {} run has {} of the results: {}{}.", run, count,
                                         fmt::join(named, ", "), count > kNamed ? ", ..." : ""));
  }
}

}  // namespace

RowsByKey rows_by_key(const ResultDocument& document, const std::vector<std::string>& fields,
                      const std::function<bool(const Row&)>& wanted) {
  RowsByKey rows;
  for (const Row& row : document.results) {
    if (!wanted(row)) {
      continue;
    }
    std::vector<std::string> key;
    for (const auto& field : fields) {
      key.push_back(text_field(row, field));
    }
    rows.emplace(std::move(key), &row);
  }
  return rows;
}

void note_unmatched(const RowsByKey& before, const RowsByKey& after, ComparedRuns& compared) {
  note_missing(before, after, "only_old", "old", compared);
  note_missing(after, before, "only_new", "new", compared);
}

}  // namespace flagos::diag
