// A document that a command wrote with --format json, read back.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/report.h"

namespace flagos::diag {

struct ResultDocument {
  std::filesystem::path file;
  std::string command;
  Row environment;
  Row summary;
  std::vector<Row> results;           // objects
  std::vector<std::string> warnings;  // that its command gave, with the file's name before each, printable and few
};

// Throws UsageError that names `file` and what to do, when it can't be read, is no JSON, or is no document of this
// tool.
ResultDocument read_document(const std::filesystem::path& file);

// The same of a file's content; `file` is what messages call it.
ResultDocument parse_document(std::string_view text, const std::filesystem::path& file);

// A field of a document, which another version may have left out. Text of a missing one or null: "".
std::string text_field(const Row& row, std::string_view name);
// Finite numbers only.
std::optional<double> number_field(const Row& row, std::string_view name);

}  // namespace flagos::diag
