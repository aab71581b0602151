// verify: whether recorded calls have the same results on flagos, with the fast path and without, as on the target.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "commands/command.h"
#include "isolation/worker_pool.h"
#include "traces/argument_source.h"

namespace flagos::diag {

class Verify final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  using CasesByOperator = std::map<std::string, std::vector<Row>>;

  std::vector<std::string> selected_operators(const ArgumentSource& source) const;
  std::deque<Job> jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const;
  CasesByOperator verify(const std::deque<Job>& jobs, const GlobalOptions& options) const;
  std::string reproduce(const std::string& op, const Row& found, uint64_t seed) const;
  void add_rows(const std::string& op, const Row& found, const GlobalOptions& options, Report& report) const;

  std::vector<std::string> patterns_;
  std::vector<std::string> cases_;
  std::string trace_;
  int64_t call_ = -1;  // all of them
  bool all_ = false;
  bool kernels_ = false;
};

}  // namespace flagos::diag
