// Lines over a pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace flagos::diag {

// Writes `line` and a line feed. False when the other end is gone.
bool write_line(int fd, std::string_view line);

class LineReader {
 public:
  explicit LineReader(int fd) : fd_(fd) {}

  // The next line, waiting for it; nothing at the end of the file. An unfinished last line is dropped.
  std::optional<std::string> next();

  // Reads what is there, once. False at the end of the file.
  bool fill();
  // A line that has been read whole, without waiting.
  std::optional<std::string> take();
  // Bytes that have been read and not taken.
  size_t unfinished() const { return buffer_.size(); }

 private:
  int fd_;
  std::string buffer_;
};

}  // namespace flagos::diag
