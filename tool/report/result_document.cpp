#include "report/result_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "cli/exit_code.h"
#include "report/bounded_json.h"
#include "report/foreign_text.h"

namespace flagos::diag {
namespace {

constexpr const char* kDocumentSchema = "flagos-diag/1";
constexpr uintmax_t kMaxBytes = uintmax_t{256} << 20;
constexpr size_t kMostWarnings = 20;
constexpr size_t kShownOfWarning = 300;  // bytes
constexpr const char* kHowToMakeOne = "Make one with: flagos-diag COMMAND --format json --output FILE";

std::string document_text(const std::filesystem::path& file) {
  std::error_code error;
  if (std::filesystem::is_directory(file, error)) {
    throw UsageError(fmt::format("{}: is a directory. Name a file that --format json wrote.", file.string()));
  }
  // Anything else might never end: a pipe that nobody writes to, /dev/zero.
  if (!error && std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error)) {
    throw UsageError(fmt::format("{}: is no regular file. {}", file.string(), kHowToMakeOne));
  }
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw UsageError(fmt::format("{}: {}. {}", file.string(), std::strerror(errno), kHowToMakeOne));
  }
  if (std::filesystem::file_size(file, error) > kMaxBytes) {
    throw UsageError(fmt::format("{}: is larger than 256 MiB. {}", file.string(), kHowToMakeOne));
  }
  std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in.good() && !in.eof()) {
    throw UsageError(fmt::format("{}: {}. {}", file.string(), std::strerror(errno), kHowToMakeOne));
  }
  return text;
}

std::string as_text(const Row& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

Row object_field(const Row& document, const char* name) {
  const auto found = document.find(name);
  return found != document.end() && found->is_object() ? *found : Row::object();
}

std::vector<std::string> warnings_of(const Row& document, const std::filesystem::path& file) {
  std::vector<std::string> warnings;
  const auto found = document.find("warnings");
  if (found == document.end() || !found->is_array()) {  // those of earlier versions have none
    return warnings;
  }
  for (const Row& warning : *found) {
    if (warnings.size() == kMostWarnings) {
      warnings.push_back(fmt::format("{}: and {} more", file.string(), found->size() - kMostWarnings));
      break;
    }
    warnings.push_back(fmt::format("{}: {}", file.string(), foreign_text(as_text(warning), kShownOfWarning)));
  }
  return warnings;
}

}  // namespace

ResultDocument read_document(const std::filesystem::path& file) { return parse_document(document_text(file), file); }

ResultDocument parse_document(std::string_view text, const std::filesystem::path& file) {
  const Row document = parse_bounded(text, file, kHowToMakeOne);
  const std::string schema = text_field(document, "schema");
  if (schema != kDocumentSchema) {
    throw UsageError(fmt::format("{}: its schema is {}, not {}. {}", file.string(),
                                 schema.empty() ? "not given" : '"' + foreign_text(schema) + '"', kDocumentSchema,
                                 kHowToMakeOne));
  }
  const auto results = document.find("results");
  const std::string command = text_field(document, "command");
  if (command.empty() || results == document.end() || !results->is_array() ||
      !std::all_of(results->begin(), results->end(), [](const Row& row) { return row.is_object(); })) {
    throw UsageError(fmt::format("{}: has no \"command\" or no list of \"results\". {}", file.string(), kHowToMakeOne));
  }
  return {file,
          command,
          object_field(document, "environment"),
          object_field(document, "summary"),
          std::vector<Row>(results->begin(), results->end()),
          warnings_of(document, file)};
}

std::string text_field(const Row& row, std::string_view name) {
  const auto found = row.is_object() ? row.find(std::string(name)) : row.end();
  if (!row.is_object() || found == row.end() || found->is_null()) {
    return "";
  }
  return as_text(*found);
}

std::optional<double> number_field(const Row& row, std::string_view name) {
  const auto found = row.find(std::string(name));
  if (found == row.end() || !found->is_number() || !std::isfinite(found->get<double>())) {
    return std::nullopt;
  }
  return found->get<double>();
}

}  // namespace flagos::diag
