// routes: where users have ordered operators to go, or whether a route file is sound.
#pragma once

#include <string>

#include "commands/command.h"

namespace flagos::diag {

class Routes final : public Command {
 public:
  CLI::App* add_to(CLI::App& app) override;
  Outcome run(const GlobalOptions& options) override;

 private:
  std::string conf_;
};

}  // namespace flagos::diag
