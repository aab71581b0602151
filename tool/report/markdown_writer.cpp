// A GitHub-flavoured Markdown table.
#include "report/writer.h"

namespace flagos::diag {
namespace {

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '\\') {
      result += '\\';
    }
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

class MarkdownWriter final : public Writer {
 public:
  explicit MarkdownWriter(bool quiet) : quiet_(quiet) {}

  void write(const Report& report, std::ostream& out) const override {
    std::string rule = "|";
    out << '|';
    for (const auto& field : shown_fields(report)) {
      out << ' ' << escaped(field) << " |";
      rule += "---|";
    }
    out << '\n' << rule << '\n';
    for (const Row& row : report.rows) {
      out << '|';
      for (const auto& field : shown_fields(report)) {
        out << ' ' << escaped(cell_text(row, field)) << " |";
      }
      out << '\n';
    }
    for (const auto& note : quiet_ ? std::vector<std::string>() : report.notes) {
      out << '\n' << note << '\n';
    }
  }

 private:
  bool quiet_;
};

}  // namespace

std::unique_ptr<Writer> make_markdown_writer(const TableStyle& style) {
  return std::make_unique<MarkdownWriter>(style.quiet);
}

}  // namespace flagos::diag
