// ab-bench: what the fast path gains, and what flagos costs over native calls.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "cli/call_choice.h"
#include "commands/command.h"
#include "isolation/worker_pool.h"
#include "measure/fail_on.h"
#include "traces/argument_source.h"

namespace flagos::diag {

class AbBench final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  ArgumentSource source() const;
  std::vector<std::string> selected_operators(const ArgumentSource& source) const;
  std::deque<Job> jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const;
  Row settings(double case_budget_s, uint64_t seed) const;
  WorkerCommand worker_command(const GlobalOptions& options) const;
  std::optional<FailOn> fail_on() const;
  ExitCode exit_code(const std::vector<Row>& rows) const;
  std::string trace_file() const;

  CallChoice choice_;
  std::string workload_;
  std::string fail_on_;
  std::string baseline_file_;
  std::string instructions_by_ = "auto";
  std::vector<std::string> plants_;
  double budget_s_ = 0;  // of the whole run; 0: TimeShare::default_budget()
  double threshold_percent_ = 1;
  int threads_ = 1;
  bool same_ = false;
  bool force_ = false;
  bool instructions_ = false;
};

}  // namespace flagos::diag
