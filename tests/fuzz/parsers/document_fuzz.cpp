// Documents of the tool, as compare and report read them: two, told apart by a byte 0x1e (one alone is compared with
// itself), and what comparing them makes is written in each format.
#include <sstream>

#include "cli/exit_code.h"
#include "fuzz_target.h"
#include "report/compared_runs.h"
#include "report/result_document.h"
#include "report/writer.h"

namespace flagos::fuzz {
namespace {

constexpr char kNextDocument = '\x1e';
constexpr const char* kOld = "old.json";
constexpr const char* kNew = "new.json";

void write_all(diag::ComparedRuns compared) {
  diag::Report report;
  report.command = "compare";
  report.fields = std::move(compared.fields);
  report.rows = std::move(compared.rows);
  report.summary = std::move(compared.summary);
  report.notes = std::move(compared.notes);
  for (const auto format : {diag::Format::kTable, diag::Format::kJson, diag::Format::kJsonLines, diag::Format::kCsv,
                            diag::Format::kMarkdown}) {
    std::ostringstream out;
    diag::make_writer(format, {80, true, false})->write(report, out);
  }
}

}  // namespace

bool accepts(std::string_view input) {
  const size_t end = input.find(kNextDocument);
  try {
    const auto before = diag::parse_document(input.substr(0, end), kOld);
    const auto after = diag::parse_document(end == std::string_view::npos ? input : input.substr(end + 1), kNew);
    for (const auto& difference : diag::environment_differences(before.environment, after.environment)) {
      require_clear(difference, "against");
    }
    write_all(diag::compare_runs(before, after));
    return true;
  } catch (const diag::UsageError& error) {
    require_clear(error.what(), ".json");
  }
  return false;
}

}  // namespace flagos::fuzz
