// completion: a script that completes flagos-diag's command lines in a shell.
#pragma once

#include <string>

#include "commands/command.h"

namespace flagos::diag {

class Completion final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  const CLI::App* program_ = nullptr;
  std::string shell_;
  bool operators_ = false;
};

}  // namespace flagos::diag
