// Results of two runs that belong together, and what a comparison of them says.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "report/report.h"
#include "report/result_document.h"

namespace flagos::diag {

struct ComparedRuns {
  std::vector<std::string> fields;
  std::vector<Row> rows;
  Row summary = Row::object();
  std::vector<std::string> notes;
  size_t comparable = 0;  // results that both runs have
  size_t findings = 0;    // slower, broken or newly different
};

// Rows by the values of some fields, which tell them apart; they point into the document.
using RowsByKey = std::map<std::vector<std::string>, const Row*>;

// The first row of each key among those that `wanted` takes.
RowsByKey rows_by_key(const ResultDocument& document, const std::vector<std::string>& fields,
                      const std::function<bool(const Row&)>& wanted);

// Counts the keys that only one run has in the summary, and names a few in a note.
void note_unmatched(const RowsByKey& before, const RowsByKey& after, ComparedRuns& compared);

}  // namespace flagos::diag
