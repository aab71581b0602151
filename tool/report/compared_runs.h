// Two runs of one command, compared.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/matched_rows.h"
#include "report/result_document.h"

namespace flagos::diag {

// "torch (2.11.0 against 2.10.0)" for each field of the environment that results depend on and that differs.
std::vector<std::string> environment_differences(const Row& before, const Row& after);

// Throws UsageError that names the differences and what to do, unless there are none; `what` begins the message.
void require_like(const std::vector<std::string>& differences, std::string_view what);

// check-op: the rows whose verdict or reason changed: SLOWER left the fast path, FASTER joined it, BROKEN throws or is
// predicted wrongly where it was not, else CHANGED.
ComparedRuns compare_checks(const ResultDocument& before, const ResultDocument& after);

// verify: NEWLY_DIFFERENT, NEWLY_EQUAL, and CHANGED for another reason or state. A document lists only cases that are
// not equal, so one that it doesn't list counts as equal.
ComparedRuns compare_verifications(const ResultDocument& before, const ResultDocument& after);

// Throws UsageError when the runs are of different commands, or of one whose results say nothing about a change.
ComparedRuns compare_runs(const ResultDocument& before, const ResultDocument& after);

}  // namespace flagos::diag
