// Report: what a command found, as rows of named fields; every output format is written from it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace flagos::diag {

// One result. Fields keep their order; a missing field and null both mean "not applicable".
using Row = nlohmann::ordered_json;

struct Report {
  std::string command;                    // "check-op"
  std::vector<std::string> fields;        // of the rows, in the order of the columns
  std::vector<std::string> table_fields;  // those that a table for people shows; empty: all
  std::vector<std::string> line_fields;   // those that such a table has on lines of their own below, never cut
  std::vector<Row> rows;
  Row summary = Row::object();
  Row environment = Row::object();
  std::vector<std::string> notes;     // prose for people, beside the rows
  std::vector<std::string> warnings;  // of documents; people read them on standard error
};

}  // namespace flagos::diag
