#include "commands/list.h"

#include "cli/operator_names.h"
#include "flagos/stats.h"

namespace flagos::diag {

Outcome List::run(const GlobalOptions& /*options*/) {
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "list";
  report.fields = {"op", "kernel"};
  Row counts = Row::object();
  for (const auto& op : all_operators()) {
    const char* kind = kernel_kind_name(kernel_kind(op));
    report.rows.push_back({{"op", std::string(without_aten(op))}, {"kernel", kind}});
    counts[kind] = counts.value(kind, 0) + 1;
  }
  report.summary["operators"] = report.rows.size();
  report.summary["kernels"] = counts;
  return outcome;
}

}  // namespace flagos::diag
