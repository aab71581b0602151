// compare: what changed between two runs of ab-bench, check-op or verify.
#pragma once

#include <string>

#include "commands/command.h"

namespace flagos::diag {

class Compare final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  std::string old_file_;
  std::string new_file_;
  bool force_ = false;
};

}  // namespace flagos::diag
