// man: the manual page flagos-diag(1), as roff.
#pragma once

#include "commands/command.h"

namespace flagos::diag {

class ManPage final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  const CLI::App* program_ = nullptr;
};

}  // namespace flagos::diag
