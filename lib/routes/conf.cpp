#include "routes/conf.h"

#include <c10/util/Exception.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <system_error>

#include "device/environment.h"

namespace flagos::routing {
namespace {

constexpr size_t kMaxLine = 4096;             // bytes
constexpr size_t kMaxFile = size_t{1} << 20;  // bytes
constexpr size_t kMaxDepth = 16;              // files that include one another
constexpr size_t kMaxFiles = 256;             // read in all: files that include each twice double at every depth
constexpr size_t kMaxShownPath = 512;         // bytes
constexpr std::string_view kInclude = "include";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

std::string shown(const std::string& file) { return printable(file, kMaxShownPath); }

// Note [No std::filesystem]
// libtorch_cpu exports a copy of the compiler's that built it. References of this library may be bound to that one,
// whose objects can be other than those that this compiler's inline functions know: a crash (GCC 13 against PyTorch's
// wheel).

std::string cause(int error) { return std::generic_category().message(error); }

// `name` as a file that lies in `beside`'s folder names it.
std::string relative_to(const std::string& beside, std::string_view name) {
  const size_t slash = beside.rfind('/');
  return name.starts_with('/') || slash == std::string::npos ? std::string(name)
                                                             : beside.substr(0, slash + 1) + std::string(name);
}

struct Close {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

class Reader {
 public:
  // `from` is the line that includes the file; for the first one, what names it, or "".
  void read(const std::string& file, const std::string& from) {
    const std::string real = real_path(file, from);
    enter(file, real, from);
    std::string content = whole(file, from);
    std::string_view rest = content;
    if (rest.starts_with(kByteOrderMark)) {
      rest.remove_prefix(kByteOrderMark.size());
    }
    for (size_t number = 1; !rest.empty(); ++number) {
      const size_t end = rest.find('\n');
      take_line(rest.substr(0, end), file, shown(file) + ":" + std::to_string(number));
      rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    open_.pop_back();
  }

  std::vector<Order> take_orders() { return std::move(orders_); }

 private:
  [[noreturn]] static void fail(const std::string& from, const std::string& what) {
    TORCH_CHECK(false, "flagos: ", from.empty() ? "route file " : from + ": route file ", what);
  }

  static std::string real_path(const std::string& file, const std::string& from) {
    const std::unique_ptr<char, decltype(&std::free)> real(realpath(file.c_str(), nullptr), &std::free);
    struct stat about {};
    if (real == nullptr || stat(real.get(), &about) != 0) {
      const int error = errno;
      fail(from, shown(file) + " can't be read: " + cause(error) + ".");
    }
    if (!S_ISREG(about.st_mode)) {  // anything else might never end: a pipe, /dev/zero
      fail(from, shown(file) + " is no regular file.");
    }
    return real.get();
  }

  void enter(const std::string& file, const std::string& real, const std::string& from) {
    if (std::find(open_.begin(), open_.end(), real) != open_.end()) {
      fail(from, shown(file) + " includes itself, directly or through the files that it includes.");
    }
    if (open_.size() == kMaxDepth) {
      fail(from, shown(file) + " is nested deeper than " + std::to_string(kMaxDepth) + " files.");
    }
    if (++files_ > kMaxFiles) {
      fail(from, shown(file) + " is one too many: more than " + std::to_string(kMaxFiles) + " files are included.");
    }
    open_.push_back(real);
  }

  static std::string whole(const std::string& file, const std::string& from) {
    const std::unique_ptr<std::FILE, Close> in(std::fopen(file.c_str(), "rb"));
    if (in == nullptr) {
      const int error = errno;
      fail(from, shown(file) + " can't be read: " + cause(error) + ".");
    }
    std::string content(kMaxFile + 1, '\0');
    content.resize(std::fread(content.data(), 1, content.size(), in.get()));
    if (std::ferror(in.get()) != 0) {
      fail(from, shown(file) + " can't be read.");
    }
    if (content.size() > kMaxFile) {
      fail(from, shown(file) + " is larger than " + std::to_string(kMaxFile) + " bytes.");
    }
    return content;
  }

  void take_line(std::string_view line, const std::string& file, const std::string& where) {
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
        read(relative_to(file, name), where);
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

  std::vector<std::string> open_;  // the file being read, and those that include it
  size_t files_ = 0;
  std::vector<Order> orders_;
};

}  // namespace

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\f\v";
  const size_t first = text.find_first_not_of(kBlanks);
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

std::vector<Order> read_conf(const std::string& file, const std::string& from) {
  Reader reader;
  reader.read(file, from);
  return reader.take_orders();
}

}  // namespace flagos::routing
