#include "commands/report.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "cli/build_places.h"
#include "cli/interrupt.h"
#include "cli/shell_word.h"
#include "report/output_file.h"
#include "report/result_document.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

// Of requirements.txt. Another version will mostly do, so it is advice only.
constexpr const char* kPlotlyPin = "plotly==7.1.0";
constexpr const char* kPageFolder = "report/page";

// Beside this program in a build tree, else below ../lib/flagos where it is installed.
fs::path page_program() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& directory : {here, here.parent_path() / FLAGOS_DIAG_LIBEXEC}) {
    if (fs::exists(directory / kPageFolder / "__main__.py", error)) {
      return directory / kPageFolder;
    }
  }
  throw UsageError(fmt::format("report: {}/__main__.py is not beside {}. Install or build flagos-diag again.",
                               kPageFolder, here.string()));
}

// Runs `command` in a shell and hands what it prints to `out`; its standard error is this program's. Returns its exit
// code, 128 + the signal that killed it.
int run_into(const std::string& command, std::ostream& out) {
  FILE* const output = popen(command.c_str(), "r");
  if (output == nullptr) {
    throw std::runtime_error("report: no shell could be started");
  }
  std::array<char, 1U << 16U> buffer{};
  for (size_t size = 0; (size = fread(buffer.data(), 1, buffer.size(), output)) != 0;) {
    out.write(buffer.data(), static_cast<std::streamsize>(size));
  }
  const int status = pclose(output);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// A page is whole or not there.
void refuse_when_interrupted() {
  if (interrupted()) {
    throw std::runtime_error("report: interrupted; no page was written");
  }
}

// The first of pythons() that has plotly.
std::string python_with_plotly() {
  std::string looked_at;
  for (const std::string& python : pythons()) {
    refuse_when_interrupted();
    std::ostream nowhere(nullptr);
    if (run_into(shell_word(python) + " -c 'import plotly.offline' 2>/dev/null", nowhere) == 0) {
      return python;
    }
    looked_at += (looked_at.empty() ? "" : ", ") + python;
  }
  refuse_when_interrupted();
  throw UsageError(
      fmt::format("report: plotly can't be imported by {}. Install it: pip install {}", looked_at, kPlotlyPin));
}

}  // namespace

CLI::App* ReportPage::add_to(CLI::App& app) {
  CLI::App* command = app.add_subcommand("report", "One offline HTML page of the results of other commands");
  command->add_option("FILE", files_, "JSON documents that --format json --output FILE wrote, of any command")
      ->required()
      ->type_name("FILE ...");
  command->add_option("-o,--output", page_, "The page, which is replaced whole or not at all")->type_name("FILE.html");
  return command;
}

void ReportPage::check_page_file() const {
  if (page_.empty()) {
    throw UsageError("report: where does the page go? Add, after the command: -o report.html");
  }
  check_output_file(page_);
  for (const auto& file : files_) {
    std::error_code ignored;
    if (fs::equivalent(file, page_, ignored)) {
      throw UsageError(fmt::format("report: -o {} is one of the documents. Name another file.", page_.string()));
    }
  }
}

Outcome ReportPage::run(const GlobalOptions& /*options*/) {
  check_page_file();
  Outcome outcome;
  Report& report = outcome.report;
  report.command = "report";
  report.fields = {"document", "command", "target", "torch", "results"};
  std::string arguments;
  for (const auto& file : files_) {
    const ResultDocument document = read_document(file);
    report.rows.push_back({{"document", file},
                           {"command", document.command},
                           {"target", text_field(document.environment, "target")},
                           {"torch", text_field(document.environment, "torch")},
                           {"results", document.results.size()}});
    arguments += ' ' + shell_word(file);
  }
  // -B: where the tool is installed is no place for Python's caches.
  const std::string command =
      shell_word(python_with_plotly()) + " -B " + shell_word(page_program().string()) + " --" + arguments;
  write_output(page_, [&](std::ostream& out) {
    const int code = run_into(command, out);
    refuse_when_interrupted();
    if (code != 0) {
      throw std::runtime_error(fmt::format("report: the page was not made: exit code {}, see above", code));
    }
  });
  report.summary["page"] = page_.string();
  return outcome;
}

}  // namespace flagos::diag
