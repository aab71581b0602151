// Writer: one output format.
#pragma once

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "report/report.h"

namespace flagos::diag {

enum class Format { kTable, kJson, kJsonLines, kCsv, kMarkdown };

// How a table is drawn.
struct TableStyle {
  size_t width = 0;    // columns of the terminal; 0: as wide as it needs
  bool color = false;  // ANSI colours
  bool quiet = false;  // rows only, without summary and notes
};

class Writer {
 public:
  Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;
  Writer(Writer&&) = delete;
  Writer& operator=(Writer&&) = delete;
  virtual ~Writer() = default;

  virtual void write(const Report& report, std::ostream& out) const = 0;
};

std::unique_ptr<Writer> make_writer(Format format, const TableStyle& style);

// The value of a field, or of one within an object, "baseline.verdict"; null where there is none.
Row cell_value(const Row& row, std::string_view field);

// A field, or one within an object, as text: "-" for null, yes/no for a bool, four significant digits for a fraction.
std::string cell_text(const Row& row, std::string_view field);

// The fields that a table for people shows.
const std::vector<std::string>& shown_fields(const Report& report);

std::unique_ptr<Writer> make_table_writer(const TableStyle& style);
std::unique_ptr<Writer> make_json_writer();
std::unique_ptr<Writer> make_json_lines_writer();
std::unique_ptr<Writer> make_csv_writer();
std::unique_ptr<Writer> make_markdown_writer(const TableStyle& style);

}  // namespace flagos::diag
