#include "commands/doctor.h"

#include <unistd.h>

#include <cstdlib>
#include <string>

#include "commands/health_checks.h"

namespace flagos::diag {
namespace {

const char* health_name(Health health) {
  return health == Health::kOk ? "ok" : health == Health::kWarn ? "warn" : "fail";
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = from.empty() ? std::string::npos : text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// For reports in public: the directories of the user and of the machine, its name, the user's.
std::string redacted(std::string text) {
  // Of an absolute path only the file's name says anything.
  for (size_t start = text.find('/'); start != std::string::npos; start = text.find('/', start + 1)) {
    const bool absolute = start == 0 || text[start - 1] == ' ' || text[start - 1] == '(' || text[start - 1] == '=';
    const size_t end = std::min(text.find_first_of(" ,;:)", start), text.size());
    const size_t name = text.rfind('/', end - 1);
    if (absolute && name > start) {
      text.replace(start, name - start, "<...>");
    }
  }
  char host[256] = {};
  gethostname(host, sizeof(host) - 1);
  for (const char* variable : {"HOME", "PWD", "USER"}) {
    const char* value = std::getenv(variable);
    if (value != nullptr && std::string(value).size() > 2) {
      replace_all(text, value, std::string("<") + variable + ">");
    }
  }
  replace_all(text, host, "<HOST>");
  return text;
}

}  // namespace

CLI::App* Doctor::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("doctor", "Is this installation in order?");
  command->add_flag("--redact", redact_, "Leave out paths, user and host, for a public report");
  return command;
}

Outcome Doctor::run(const GlobalOptions& /*options*/) {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    variables.emplace_back(*variable);
  }
  const auto loaded = loaded_objects();
  const std::vector<Finding> findings = {check_torch_version(),
                                         check_abi(),
                                         check_library(),
                                         check_target(),
                                         check_duplicate_cudart(loaded),
                                         check_rpath(loaded),
                                         check_driver(),
                                         check_nvidia_libraries(loaded),
                                         check_environment_variables(variables)};
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "doctor";
  report.fields = {"check", "verdict", "found", "remedy"};
  Row counts = {{"ok", 0}, {"warn", 0}, {"fail", 0}};
  for (const Finding& finding : findings) {
    const std::string found = redact_ ? redacted(finding.found) : finding.found;
    const std::string remedy = redact_ ? redacted(finding.remedy) : finding.remedy;
    report.rows.push_back({{"check", finding.check},
                           {"verdict", health_name(finding.health)},
                           {"found", found},
                           {"remedy", remedy.empty() ? Row(nullptr) : Row(remedy)}});
    counts[health_name(finding.health)] = counts[health_name(finding.health)].get<int>() + 1;
    if (finding.health != Health::kOk) {  // a table may have cut it
      report.notes.push_back(finding.check + ": " + found + ". " + remedy);
    }
  }
  report.summary["verdicts"] = counts;
  outcome.code = counts["fail"].get<int>() > 0 ? ExitCode::kUsage : ExitCode::kAsHoped;
  return outcome;
}

}  // namespace flagos::diag
