// doctor: is this installation in order, and what to do where it is not.
#pragma once

#include "commands/command.h"

namespace flagos::diag {

class Doctor final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;
  bool needs_library() const override { return false; }

 private:
  bool redact_ = false;
};

}  // namespace flagos::diag
