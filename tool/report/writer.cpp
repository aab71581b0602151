#include "report/writer.h"

#include <fmt/format.h>

namespace flagos::diag {

std::unique_ptr<Writer> make_writer(Format format, const TableStyle& style) {
  switch (format) {
    case Format::kTable:
      return make_table_writer(style);
    case Format::kJson:
      return make_json_writer();
    case Format::kJsonLines:
      return make_json_lines_writer();
    case Format::kCsv:
      return make_csv_writer();
    case Format::kMarkdown:
      return make_markdown_writer(style);
  }
  return nullptr;
}

std::string cell_text(const Row& row, std::string_view field) {
  const auto found = row.find(std::string(field));
  if (found == row.end() || found->is_null()) {
    return "-";
  }
  if (found->is_boolean()) {
    return found->get<bool>() ? "yes" : "no";
  }
  if (found->is_number_float()) {
    return fmt::format("{:.4g}", found->get<double>());
  }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

const std::vector<std::string>& shown_fields(const Report& report) {
  return report.table_fields.empty() ? report.fields : report.table_fields;
}

}  // namespace flagos::diag
