#include "routes/conf.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include "device/environment.h"

namespace flagos::routing {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxLine = 4096;             // bytes
constexpr size_t kMaxFile = size_t{1} << 20;  // bytes
constexpr size_t kMaxDepth = 16;              // files that include one another
constexpr size_t kMaxFiles = 256;             // read in all: files that include each twice double at every depth
constexpr size_t kMaxShownPath = 512;         // bytes
constexpr std::string_view kInclude = "include";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string shown(const fs::path& file) { return printable(file.native(), kMaxShownPath); }

class Reader {
 public:
  // `from` is the line that includes the file; for the first one, what names it, or "".
  void read(const fs::path& file, const std::string& from) {
    const fs::path real = real_path(file, from);
    enter(file, real, from);
    std::string content = whole(file, from);
    std::string_view rest = content;
    if (rest.starts_with(kByteOrderMark)) {
      rest.remove_prefix(kByteOrderMark.size());
    }
    for (size_t number = 1; !rest.empty(); ++number) {
      const size_t end = rest.find('\n');
      take_line(rest.substr(0, end), file, c10::str(shown(file), ":", number));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    open_.pop_back();
  }

  std::vector<Order> take_orders() { return std::move(orders_); }

 private:
  [[noreturn]] static void fail(const std::string& from, const std::string& what) {
    TORCH_CHECK(false, "flagos: ", from.empty() ? "route file " : from + ": route file ", what);
  }

  static fs::path real_path(const fs::path& file, const std::string& from) {
    std::error_code error;
    fs::path real = fs::canonical(file, error);
    // Anything else might never end: a pipe, /dev/zero.
    const bool regular = !error && fs::is_regular_file(real, error);
    if (error) {
      fail(from, c10::str(shown(file), " can't be read: ", error.message(), "."));
    }
    if (!regular) {
      fail(from, shown(file) + " is no regular file.");
    }
    return real;
  }

  void enter(const fs::path& file, const fs::path& real, const std::string& from) {
    if (std::find(open_.begin(), open_.end(), real) != open_.end()) {
      fail(from, shown(file) + " includes itself, directly or through the files that it includes.");
    }
    if (open_.size() == kMaxDepth) {
      fail(from, c10::str(shown(file), " is nested deeper than ", kMaxDepth, " files."));
    }
    if (++files_ > kMaxFiles) {
      fail(from, c10::str(shown(file), " is one too many: more than ", kMaxFiles, " files are included."));
    }
    open_.push_back(real);
  }

  static std::string whole(const fs::path& file, const std::string& from) {
    std::ifstream in(file, std::ios::binary);
    if (!in.is_open()) {
      const int cause = errno;
      fail(from, c10::str(shown(file), " can't be read: ", std::generic_category().message(cause), "."));
    }
    std::string content;
    std::array<char, 4096> chunk{};
    do {
      in.read(chunk.data(), chunk.size());
      content.append(chunk.data(), static_cast<size_t>(in.gcount()));
      if (content.size() > kMaxFile) {
        fail(from, c10::str(shown(file), " is larger than ", kMaxFile, " bytes."));
      }
    } while (in);
    if (in.bad()) {
      fail(from, shown(file) + " can't be read.");
    }
    return content;
  }

  void take_line(std::string_view line, const fs::path& file, const std::string& where) {
    TORCH_CHECK(line.size() <= kMaxLine, "flagos: ", where, ": a line of ", line.size(), " bytes; at most ", kMaxLine,
                " are read.");
    // The system's calls would take the text before it for the whole name of a file.
    TORCH_CHECK(line.find('\0') == std::string_view::npos, "flagos: ", where, ": a line with a NUL byte.");
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty()) {
      return;
    }
    if (line.starts_with(kInclude) && line.size() > kInclude.size()) {
      const std::string_view name = trimmed(line.substr(kInclude.size()));
      const bool separate = name.size() < line.size() - kInclude.size();
      if (separate && !name.starts_with('=')) {
        read(file.parent_path() / fs::path(name), where);
        return;
      }
    }
    const size_t equals = line.find('=');
    const std::string_view op = trimmed(line.substr(0, equals));
    const std::string_view backend = equals == std::string_view::npos ? "" : trimmed(line.substr(equals + 1));
    TORCH_CHECK(!op.empty() && !backend.empty(), "flagos: ", where, ": \"", printable(line),
                "\" is not understood. A line is \"op = backend\", \"include FILE\" or a \"# comment\".");
    orders_.push_back({std::string(op), std::string(backend), where});
  }

  std::vector<fs::path> open_;  // the file being read, and those that include it
  size_t files_ = 0;
  std::vector<Order> orders_;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<Order> read_conf(const std::filesystem::path& file, const std::string& from) {
  Reader reader;
  reader.read(file, from);
  return reader.take_orders();
}

}  // namespace flagos::routing
