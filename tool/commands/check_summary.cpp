#include "commands/check_summary.h"

#include <fmt/format.h>

#include <optional>
#include <set>
#include <string>

#include "flagos/redispatch.h"
#include "prediction/dispatch_table.h"
#include "prediction/operator_facts.h"

namespace flagos::diag {
namespace {

void count(Row& counts, const std::string& name) {
  const bool first = !counts.is_object() || !counts.contains(name);
  counts[name] = first ? 1 : counts[name].get<int>() + 1;
}

std::string help_for(const std::string& code) {
  const auto reason = reason_of(code);
  return reason.has_value() ? reason_help(*reason) : "";
}

std::string verdict_in_words(const std::string& verdict) {
  if (verdict == "fast") {
    return reason_help(Reason::kNone);
  }
  if (verdict == "view") {
    return "A view on metadata alone: it runs on the flagos tensor as it is and is never boxed. Nothing to do.";
  }
  if (verdict == "composite") {
    return "PyTorch makes it of other operators; see those.";
  }
  if (verdict == "fallback") {
    return "No kernel of its own: the boxed stack fallback takes it to the target's kernel, or to the CPU's.";
  }
  return "";
}

std::string explanation(const Row& row, const DispatchTable& table) {
  const auto verdict = row.at("verdict").get<std::string>();
  if (!row.at("reason").is_string()) {
    return row.at("note").is_string() && verdict != "fast" ? row.at("note").get<std::string>()
                                                           : verdict_in_words(verdict);
  }
  std::string text;
  if (row.at("key").is_string()) {
    const auto key = row.at("key").get<std::string>();
    const TableEntry* entry = table.at(c10::parseDispatchKey(key));
    text = entry != nullptr ? fmt::format("The key {} decided; its {} is {}. ", key, entry->kind, entry->source)
                            : fmt::format("The key {} decided; the operator has no kernel there. ", key);
  }
  return text + help_for(row.at("reason").get<std::string>());
}

}  // namespace

Row summarize_checks(const std::vector<Row>& rows) {
  Row verdicts = Row::object();
  Row reasons = Row::object();
  Row situations = Row::object();
  size_t disagreements = 0;
  std::set<std::string> ops;
  for (const Row& row : rows) {
    const auto verdict = row.at("verdict").get<std::string>();
    ops.insert(row.at("op").get<std::string>());
    count(verdicts, verdict);
    if (row.at("reason").is_string()) {
      count(reasons, row.at("reason").get<std::string>());
    }
    count(situations[row.at("situation").get<std::string>()], verdict);
    disagreements += row.at("agrees").is_boolean() && !row.at("agrees").get<bool>() ? 1 : 0;
  }
  return {{"operators", ops.size()}, {"rows", rows.size()}, {"disagreements", disagreements},
          {"verdicts", verdicts},    {"reasons", reasons},  {"situations", situations}};
}

void explain_checks(Report& report) {
  std::string op;
  std::optional<DispatchTable> table;
  for (Row& row : report.rows) {
    const auto name = row.at("op").get<std::string>();
    if (!table.has_value() || name != op) {
      op = name;
      table.emplace(operator_handle(op));
    }
    const std::string text = explanation(row, *table);
    row["explanation"] = text.empty() ? Row(nullptr) : Row(text);
    if (!text.empty()) {
      report.notes.push_back(fmt::format("{} {}: {}", op, row.at("situation").get<std::string>(), text));
    }
  }
}

}  // namespace flagos::diag
