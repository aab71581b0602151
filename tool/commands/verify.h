// verify: whether recorded calls have the same results on flagos, with the fast path and without, as on the target.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/call_choice.h"
#include "commands/case_shrinker.h"
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
  void check_kernels_option() const;
  CaseInput given_case(const std::string& op, Variant variant) const;
  std::deque<Job> jobs_for(const std::vector<std::string>& ops, const ArgumentSource& source) const;
  // What there is when workers can't be started any more; `stopped` says so then.
  CasesByOperator verify(const std::deque<Job>& jobs, const GlobalOptions& options, std::string& stopped) const;
  void shrink(CasesByOperator& cases, const ArgumentSource& source, const GlobalOptions& options) const;
  std::string reproduce(const std::string& op, const Row& found, uint64_t seed) const;
  void add_rows(const std::string& op, const Row& found, Report& report) const;

  CallChoice choice_;
  std::vector<std::string> cases_;
  std::string args_;  // empty: recorded calls
  std::string data_ = data_name(Data::kNoise);
  ShrinkBounds shrink_;
  double shrink_seconds_ = 0;  // of the whole run; 0: by what was asked for
  bool no_shrink_ = false;
  bool kernels_ = false;
  bool verbose_ = false;
};

}  // namespace flagos::diag
