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

Row cell_value(const Row& row, std::string_view field) {
  const size_t dot = field.find('.');
  const auto found = row.find(std::string(field.substr(0, dot)));
  if (found == row.end()) {
    return nullptr;
  }
  if (dot == std::string_view::npos) {
    return *found;
  }
  return found->is_object() ? cell_value(*found, field.substr(dot + 1)) : Row(nullptr);
}

std::string cell_text(const Row& row, std::string_view field) {
  const Row value = cell_value(row, field);
  if (value.is_null()) {
    return "-";
  }
  if (value.is_boolean()) {
    return value.get<bool>() ? "yes" : "no";
  }
  if (value.is_number_float()) {
    return fmt::format("{:.4g}", value.get<double>());
  }
  return value.is_string() ? value.get<std::string>() : value.dump();
}

const std::vector<std::string>& shown_fields(const Report& report) {
  return report.table_fields.empty() ? report.fields : report.table_fields;
}

}  // namespace flagos::diag
