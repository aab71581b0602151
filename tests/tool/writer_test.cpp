#include "report/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

namespace flagos::diag {
namespace {

Report sample() {
  Report report;
  report.command = "check-op";
  report.fields = {"op", "agrees", "hits", "note"};
  report.rows = {{{"op", "mm"}, {"agrees", true}, {"hits", 1}, {"note", nullptr}},
                 {{"op", "add"}, {"agrees", false}, {"hits", 0}, {"note", "a \"b\", | c"}}};
  report.summary = {{"rows", 2}};
  report.notes = {"a note"};
  return report;
}

std::string written(Format format, const TableStyle& style = {}, const Report& report = sample()) {
  std::ostringstream out;
  make_writer(format, style)->write(report, out);
  return out.str();
}

TEST(JsonWriter, DocumentHasTheContractsFields) {
  const Row document = Row::parse(written(Format::kJson));
  EXPECT_EQ(document.at("schema"), "flagos-diag/1");
  EXPECT_EQ(document.at("command"), "check-op");
  EXPECT_TRUE(document.contains("environment"));
  EXPECT_EQ(document.at("results").size(), 2U);
  EXPECT_EQ(document.at("results")[0].at("agrees"), true);
  EXPECT_TRUE(document.at("results")[0].at("note").is_null());
}

TEST(JsonWriter, BytesThatAreNotUtf8DoNotLoseTheDocument) {
  Report report = sample();
  report.rows[0]["note"] = "\xff\xfe";
  EXPECT_NO_THROW(static_cast<void>(Row::parse(written(Format::kJson, {}, report))));
}

TEST(JsonLinesWriter, OneHeadThenOneRowALine) {
  std::istringstream lines(written(Format::kJsonLines));
  std::string line;
  std::getline(lines, line);
  EXPECT_EQ(Row::parse(line).at("schema"), "flagos-diag/1");
  std::getline(lines, line);
  EXPECT_EQ(Row::parse(line).at("op"), "mm");
}

TEST(CsvWriter, QuotesAsRfc4180) {
  EXPECT_EQ(written(Format::kCsv), "op,agrees,hits,note\r\nmm,yes,1,\r\nadd,no,0,\"a \"\"b\"\", | c\"\r\n");
}

TEST(MarkdownWriter, EscapesBars) {
  EXPECT_NE(written(Format::kMarkdown).find("| a \"b\", \\| c |"), std::string::npos);
}

TEST(TableWriter, FitsTheTerminal) {
  Report report = sample();
  report.rows[1]["note"] = std::string(300, 'x');
  TableStyle style;
  style.width = 60;
  style.quiet = true;
  std::istringstream lines(written(Format::kTable, style, report));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_LE(line.size(), 62U) << line;  // the ellipsis is three bytes, one column
  }
}

// The widest tables that there are: the fields of verify and check-op.
TEST(TableWriter, FitsANarrowTerminal) {
  Report report;
  report.fields = {"op",           "case",       "call",   "arm_a",     "arm_b",  "equal",
                   "max_abs_diff", "first_diff", "reason", "reproduce", "shrunk", "note"};
  Row row = Row::object();
  for (const auto& field : report.fields) {
    row[field] = "some words of " + field;
  }
  const std::string command = "flagos-diag verify kron.out --args " + std::string(200, 'x');
  row["reproduce"] = command;
  report.rows = {row, row};
  report.line_fields = {"reproduce", "shrunk"};
  report.summary["verdicts"] = {
      {"FASTER", 1234567890}, {"SLOWER", 1234567890}, {"SAME", 1234567890}, {"other", 1234567890}};
  report.notes = {"a note of many words that is longer than a line of a narrow terminal can be, and a longword" +
                  std::string(70, 'x')};
  for (const size_t width : {60, 80, 200}) {
    TableStyle style;
    style.width = width;
    const std::string text = written(Format::kTable, style, report);
    std::istringstream lines(text);
    size_t commands = 0;
    for (std::string line; std::getline(lines, line);) {
      if (line == "reproduce: " + command) {
        ++commands;
      } else if (!line.ends_with("xxxx")) {
        const auto columns = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xC0) != 0x80; });
        EXPECT_LE(static_cast<size_t>(columns), width) << line;
      }
    }
    EXPECT_EQ(commands, 1U) << text;  // both rows have the same
    EXPECT_NE(text.find("shrunk: some words of shrunk\n"), std::string::npos);
    EXPECT_NE(text.find("1234567890"), std::string::npos);
  }
  EXPECT_NE(written(Format::kMarkdown, {}, report).find("| reproduce |"), std::string::npos);
}

TEST(TableWriter, QuietHasRowsOnly) {
  TableStyle style;
  style.quiet = true;
  EXPECT_EQ(written(Format::kTable, style).find("a note"), std::string::npos);
  EXPECT_NE(written(Format::kTable).find("a note"), std::string::npos);
}

TEST(TableWriter, ColorOnlyWhenAsked) {
  TableStyle style;
  EXPECT_EQ(written(Format::kTable, style).find('\033'), std::string::npos);
  style.color = true;
  EXPECT_NE(written(Format::kTable, style).find('\033'), std::string::npos);
}

}  // namespace
}  // namespace flagos::diag
