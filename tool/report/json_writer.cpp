// JSON: one document, or one line a row.
#include "report/writer.h"

namespace flagos::diag {
namespace {

constexpr const char* kSchema = "flagos-diag/1";
// Error texts may hold bytes that are not UTF-8; they must not lose the whole document.
constexpr auto kReplaceBadBytes = Row::error_handler_t::replace;

class JsonWriter final : public Writer {
 public:
  void write(const Report& report, std::ostream& out) const override {
    const Row document = {
        {"schema", kSchema},         {"command", report.command},   {"environment", report.environment},
        {"summary", report.summary}, {"warnings", report.warnings}, {"notes", report.notes},
        {"results", report.rows}};
    out << document.dump(2, ' ', false, kReplaceBadBytes) << '\n';
  }
};

// The first line carries what the document would: `grep -v '"schema"'` leaves the rows.
class JsonLinesWriter final : public Writer {
 public:
  void write(const Report& report, std::ostream& out) const override {
    const Row head = {{"schema", kSchema},
                      {"command", report.command},
                      {"environment", report.environment},
                      {"summary", report.summary},
                      {"warnings", report.warnings}};
    out << head.dump(-1, ' ', false, kReplaceBadBytes) << '\n';
    for (const Row& row : report.rows) {
      out << row.dump(-1, ' ', false, kReplaceBadBytes) << '\n';
    }
  }
};

}  // namespace

std::unique_ptr<Writer> make_json_writer() { return std::make_unique<JsonWriter>(); }
std::unique_ptr<Writer> make_json_lines_writer() { return std::make_unique<JsonLinesWriter>(); }

}  // namespace flagos::diag
