// What the cases of a run of verify come to.
#pragma once

#include <string>
#include <vector>

#include "cli/exit_code.h"
#include "report/report.h"
#include "traces/argument_source.h"

namespace flagos::diag {

struct VerifiedCase {
  std::string op;
  Row found;  // as case_of_answer() returns it, with its call, case, reproduce and shrunk
};

Row summarize_cases(const std::vector<VerifiedCase>& cases, const std::vector<std::string>& ops,
                    const ArgumentSource& source);

// With --kernels: cases by what their kernels came to, and how many had any compared.
Row count_kernels(const std::vector<VerifiedCase>& cases);

// Of a run in which no case ran, the reasons: "Nothing ran: 13 cases: there are 9 recorded calls." None where one did.
std::vector<std::string> why_nothing_ran(const std::vector<VerifiedCase>& cases, const Row& summary);

// Of a summary.
ExitCode verify_exit_code(const Row& summary);

}  // namespace flagos::diag
