// check-op: which operators take the fast path, in which situations, and why not.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/call_choice.h"
#include "commands/command.h"
#include "isolation/worker_pool.h"
#include "traces/argument_source.h"

namespace flagos::diag {

class CheckOp final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  using RowsByOperator = std::map<std::string, std::map<std::string, Row>>;  // operator, situation

  std::vector<std::string> selected_operators() const;
  RowsByOperator check(const std::vector<std::string>& ops, const GlobalOptions& options) const;
  void check_in_python(const std::vector<std::string>& ops, const GlobalOptions& options, RowsByOperator& rows) const;

  CallChoice choice_;
  std::vector<std::string> situations_;
  bool explain_ = false;
};

}  // namespace flagos::diag
