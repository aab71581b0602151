// stats: what share of a workload's calls took the fast path.
#pragma once

#include <map>
#include <string>

#include "commands/command.h"
#include "traces/argument_source.h"

namespace flagos::diag {

class Stats final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  // Counters by operator, and what became of the recorded calls.
  struct Totals {
    std::map<std::string, Row> counts;
    size_t recorded = 0;
    size_t run = 0;
    Row errors = Row::object();  // the first error of each operator
  };

  Totals count(const ArgumentSource& source, const GlobalOptions& options) const;

  std::string trace_;
};

}  // namespace flagos::diag
