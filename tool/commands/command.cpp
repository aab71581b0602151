#include "commands/command.h"

#include "commands/ab_bench.h"
#include "commands/check_op.h"
#include "commands/compare.h"
#include "commands/completion.h"
#include "commands/doctor.h"
#include "commands/explain.h"
#include "commands/man_page.h"
#include "commands/record.h"
#include "commands/report.h"
#include "commands/routes.h"
#include "commands/stats.h"
#include "commands/verify.h"

namespace flagos::diag {

std::vector<std::unique_ptr<Command>> make_commands() {
  std::vector<std::unique_ptr<Command>> commands;
  commands.push_back(std::make_unique<Record>());
  commands.push_back(std::make_unique<CheckOp>());
  commands.push_back(std::make_unique<Verify>());
  commands.push_back(std::make_unique<AbBench>());
  commands.push_back(std::make_unique<Compare>());
  commands.push_back(std::make_unique<ReportPage>());
  commands.push_back(std::make_unique<Explain>());
  commands.push_back(std::make_unique<Routes>());
  commands.push_back(std::make_unique<Stats>());
  commands.push_back(std::make_unique<Doctor>());
  commands.push_back(std::make_unique<Completion>());
  commands.push_back(std::make_unique<ManPage>());
  return commands;
}

}  // namespace flagos::diag
