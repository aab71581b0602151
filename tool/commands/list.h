// --list: the operators, and how a flagos tensor's call of each is carried out.
#pragma once

#include "commands/command.h"

namespace flagos::diag {

class List final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override { return &app; }
  Outcome run(const GlobalOptions& options) override;
};

}  // namespace flagos::diag
