#include "isolation/line_pipe.h"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace flagos::diag {

bool write_line(int fd, std::string_view line) {
  std::string text(line);
  text += '\n';
  for (size_t written = 0; written < text.size();) {
    const ssize_t count = write(fd, text.data() + written, text.size() - written);
    if (count < 0 && errno != EINTR) {
      return false;
    }
    written += count > 0 ? static_cast<size_t>(count) : 0;
  }
  return true;
}

bool LineReader::fill() {
  std::array<char, 16384> chunk{};
  const ssize_t count = read(fd_, chunk.data(), chunk.size());
  if (count > 0) {
    buffer_.append(chunk.data(), static_cast<size_t>(count));
  }
  return count > 0 || (count < 0 && errno == EINTR);
}

std::optional<std::string> LineReader::take() {
  const size_t end = buffer_.find('\n');
  if (end == std::string::npos) {
    return std::nullopt;
  }
  std::string line = buffer_.substr(0, end);
  buffer_.erase(0, end + 1);
  return line;
}

std::optional<std::string> LineReader::next() {
  for (;;) {
    if (auto line = take()) {
      return line;
    }
    if (!fill()) {
      return std::nullopt;
    }
  }
}

}  // namespace flagos::diag
