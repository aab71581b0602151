// explain: what a reason code means, or what is registered for an operator.
#pragma once

#include <string>

#include "commands/command.h"

namespace flagos::diag {

class Explain final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  std::string subject_;
};

}  // namespace flagos::diag
