#include "commands/routes.h"

#include <fmt/format.h>

#include "cli/operator_names.h"
#include "flagos/routes.h"
#include "report/error_text.h"

namespace flagos::diag {
namespace {

std::vector<Route> routes_of_file(const std::string& file) {
  try {
    return read_routes(file);
  } catch (const std::exception& error) {
    throw UsageError(error_text(error));
  }
}

}  // namespace

CLI::App* Routes::add_to(CLI::App& app) {
  CLI::App* command =
      app.add_subcommand("routes", "Where operators have been ordered to go, or what a route file orders");
  command->add_option("--conf", conf_, "Check this route file, as FLAGOS_BACKEND_CONFIG would read it")
      ->type_name("FILE");
  return command;
}

Outcome Routes::run(const GlobalOptions& /*options*/) {
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "routes";
  report.fields = {"op", "backend", "where", "waiting"};
  Row backends = Row::object();
  size_t waiting = 0;
  for (const Route& route : conf_.empty() ? routes() : routes_of_file(conf_)) {
    report.rows.push_back({{"op", std::string(without_aten(route.op))},
                           {"backend", route.backend},
                           {"where", route.where},
                           {"waiting", route.waiting}});
    backends[route.backend] = backends.value(route.backend, 0) + 1;
    waiting += route.waiting ? 1 : 0;
  }
  report.summary["routes"] = report.rows.size();
  report.summary["backends"] = backends;
  if (waiting != 0) {
    report.notes.push_back(fmt::format(
        "{} of them wait for a backend that nobody has registered yet; until then those operators are native.",
        waiting));
  }
  return outcome;
}

}  // namespace flagos::diag
