// What the rows of check-op come to, in numbers and in words.
#pragma once

#include <vector>

#include "report/report.h"

namespace flagos::diag {

// Counts by verdict, by reason, and of disagreements; and the verdicts of each situation.
Row summarize_checks(const std::vector<Row>& rows);

// Adds to each row the field `explanation`, and to the notes each different explanation once.
void explain_checks(Report& report);

}  // namespace flagos::diag
