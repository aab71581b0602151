// CSV as RFC 4180 has it: rows only, one header line.
#include "report/writer.h"

namespace flagos::diag {
namespace {

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    return text;
  }
  std::string result = "\"";
  for (const char c : text) {
    result += c;
    if (c == '"') {
      result += c;
    }
  }
  return result + '"';
}

class CsvWriter final : public Writer {
 public:
  void write(const Report& report, std::ostream& out) const override {
    write_line(report.fields, out);
    for (const Row& row : report.rows) {
      std::vector<std::string> cells;
      for (const auto& field : report.fields) {
        const Row value = cell_value(row, field);
        cells.push_back(value.is_null() ? "" : value.is_number() ? value.dump() : cell_text(row, field));
      }
      write_line(cells, out);
    }
  }

 private:
  static void write_line(const std::vector<std::string>& cells, std::ostream& out) {
    for (size_t i = 0; i < cells.size(); ++i) {
      out << (i == 0 ? "" : ",") << quoted(cells[i]);
    }
    out << "\r\n";
  }
};

}  // namespace

std::unique_ptr<Writer> make_csv_writer() { return std::make_unique<CsvWriter>(); }

}  // namespace flagos::diag
