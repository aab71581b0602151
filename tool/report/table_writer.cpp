// A table for people, fitted to the terminal.
#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "report/writer.h"

namespace flagos::diag {
namespace {

constexpr size_t kGap = 2;
constexpr size_t kLeastWidth = 6;    // of a column, as long as the line fits so
constexpr size_t kCrampedWidth = 3;  // else
constexpr size_t kIndent = 2;
constexpr const char* kReset = "\033[0m";

using Cells = std::vector<std::string>;

// Columns a terminal needs for UTF-8 text: its code points. Good enough for what the tool prints.
size_t shown_width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// The first `width` columns of `text`, its end replaced by an ellipsis when something was cut; one line.
std::string fitted(std::string_view text, size_t width) {
  const bool cut = shown_width(text) > width;
  std::string result;
  size_t columns = 0;
  for (const char c : text) {
    const bool starts = (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
    if (starts && cut && columns + 1 >= width) {
      break;
    }
    columns += starts ? 1 : 0;
    result += c == '\n' || c == '\t' ? ' ' : c;
  }
  return cut ? result + "…" : result;
}

const char* color_of(const std::string& text) {
  static const std::map<std::string, const char*, std::less<>> kColors = {
      {"fast", "\033[32m"},         {"FASTER", "\033[32m"}, {"SLOWER", "\033[31m"}, {"SAME", "\033[2m"},
      {"INCONCLUSIVE", "\033[33m"}, {"ok", "\033[32m"},     {"yes", "\033[32m"},    {"full", "\033[33m"},
      {"warn", "\033[33m"},         {"error", "\033[31m"},  {"fail", "\033[31m"},   {"no", "\033[1;31m"},
      {"n/a", "\033[2m"},           {"unknown", "\033[2m"}};
  const auto found = kColors.find(text);
  return found != kColors.end() ? found->second : nullptr;
}

// Takes from the widest column until the line fits or all have the least width.
void shrink(std::vector<size_t>& widths, size_t limit, size_t least) {
  const size_t gaps = kGap * (widths.empty() ? 0 : widths.size() - 1);
  size_t total = std::accumulate(widths.begin(), widths.end(), gaps);
  while (total > limit) {
    const auto widest = std::max_element(widths.begin(), widths.end());
    if (*widest <= least) {
      return;
    }
    --*widest;
    --total;
  }
}

// `text` with line breaks at spaces, so that lines fit into `width` columns as far as words do; 0: as it is.
std::string wrapped(const std::string& text, size_t width) {
  std::string result;
  size_t column = 0;
  size_t place = 0;
  while (place < text.size()) {
    const size_t end = std::min(text.find(' ', place), text.size());
    const std::string_view word = std::string_view(text).substr(place, end - place);
    const size_t wide = shown_width(word);
    if (width != 0 && column > kIndent && column + 1 + wide > width) {
      result += "\n" + std::string(kIndent, ' ');
      column = kIndent;
    } else if (place != 0) {
      result += ' ';
      ++column;
    }
    result += word;
    const size_t line_break = word.rfind('\n');
    column = line_break == std::string_view::npos ? column + wide : shown_width(word.substr(line_break + 1));
    place = end + 1;
  }
  return result;
}

std::vector<std::string> columns_of(const Report& report) {
  std::vector<std::string> columns = shown_fields(report);
  for (const std::string& field : report.line_fields) {
    std::erase(columns, field);
  }
  return columns;
}

class TableWriter final : public Writer {
 public:
  explicit TableWriter(const TableStyle& style) : style_(style) {}

  void write(const Report& report, std::ostream& out) const override {
    const std::vector<Cells> lines = cells_of(report);
    std::vector<size_t> widths(columns_of(report).size(), 0);
    for (const Cells& cells : lines) {
      for (size_t i = 0; i < cells.size(); ++i) {
        widths[i] = std::max(widths[i], shown_width(cells[i]));
      }
    }
    if (style_.width != 0) {
      shrink(widths, style_.width, kLeastWidth);
      shrink(widths, style_.width, kCrampedWidth);
    }
    for (size_t line = 0; line < lines.size(); ++line) {
      write_line(lines[line], widths, line == 0, out);
    }
    write_line_fields(report, out);
    if (!style_.quiet) {
      write_summary(report, out);
    }
  }

 private:
  static std::vector<Cells> cells_of(const Report& report) {
    const std::vector<std::string> columns = columns_of(report);
    std::vector<Cells> lines = {columns};
    for (const Row& row : report.rows) {
      Cells cells;
      for (const auto& field : columns) {
        cells.push_back(cell_text(row, field));
      }
      lines.push_back(std::move(cells));
    }
    return lines;
  }

  void write_line(const Cells& cells, const std::vector<size_t>& widths, bool header, std::ostream& out) const {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i) {
      const std::string text = fitted(cells[i], widths[i]);
      const char* const color = !style_.color ? nullptr : header ? "\033[1m" : color_of(cells[i]);
      line += color != nullptr ? color + text + kReset : text;
      if (i + 1 < cells.size()) {
        line.append(widths[i] - std::min(widths[i], shown_width(text)) + kGap, ' ');
      }
    }
    out << line << '\n';
  }

  // Of rows that say the same, once.
  static void write_line_fields(const Report& report, std::ostream& out) {
    std::set<std::string> written;
    for (const Row& row : report.rows) {
      std::string lines;
      for (const std::string& field : report.line_fields) {
        if (const std::string text = cell_text(row, field); text != "-") {
          lines += field + ": " + text + '\n';
        }
      }
      if (!lines.empty() && written.insert(lines).second) {
        out << '\n' << lines;
      }
    }
  }

  void write_summary(const Report& report, std::ostream& out) const {
    for (const auto& [name, value] : report.summary.items()) {
      std::string line = name + ": ";
      if (!value.is_object()) {
        line += value.is_string() ? value.get<std::string>() : value.dump();
      } else {
        const char* separator = "";
        for (const auto& [key, count] : value.items()) {
          line += separator + key + ' ' + (count.is_string() ? count.get<std::string>() : flat(count));
          separator = ", ";
        }
      }
      out << '\n' << wrapped(line, style_.width);
    }
    out << (report.summary.empty() ? "" : "\n");
    for (const auto& note : report.notes) {
      out << '\n' << wrapped(note, style_.width) << '\n';
    }
  }

  static std::string flat(const Row& value) {
    if (!value.is_object()) {
      return value.dump();
    }
    std::string text = "(";
    for (const auto& [key, count] : value.items()) {
      text += (text.size() > 1 ? " " : "") + key + " " + count.dump();
    }
    return text + ")";
  }

  TableStyle style_;
};

}  // namespace

std::unique_ptr<Writer> make_table_writer(const TableStyle& style) { return std::make_unique<TableWriter>(style); }

}  // namespace flagos::diag
