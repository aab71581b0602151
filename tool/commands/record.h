// record: runs a program, and records an execution trace of the torch in it.
#pragma once

#include <string>
#include <vector>

#include "commands/command.h"

namespace flagos::diag {

class Record final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  // Its exit code is the program's; 2 or 3 where the program ended with 0 and nothing could be recorded.
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  std::string trace_ = "trace.json";
  std::vector<std::string> program_;
  unsigned skip_steps_ = 1;
  unsigned steps_ = 1;
  double max_seconds_ = 60;
  double max_mb_ = 500;
};

}  // namespace flagos::diag
