#include "report/output_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "cli/exit_code.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

bool is_special(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) && !fs::is_regular_file(file, ignored);
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

void write_to(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out) {
    write(out);
    out.close();
  }
  if (!out) {
    throw std::runtime_error(fmt::format("can't write {}: {}", file.string(), std::strerror(errno)));
  }
}

// Removes the temporary file unless it has been renamed.
class Removal {
 public:
  explicit Removal(fs::path file) : file_(std::move(file)) {}
  ~Removal() {
    std::error_code ignored;
    fs::remove(file_, ignored);
  }
  Removal(const Removal&) = delete;
  Removal& operator=(const Removal&) = delete;
  Removal(Removal&&) = delete;
  Removal& operator=(Removal&&) = delete;

 private:
  fs::path file_;
};

}  // namespace

void check_output_file(const fs::path& file) {
  if (file.empty()) {
    return;
  }
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) {
    throw UsageError(fmt::format("--output {}: is a directory. Name a file.", file.string()));
  }
  const fs::path& checked = is_special(file) ? file : directory_of(file);
  if (access(checked.c_str(), W_OK) != 0) {
    throw UsageError(fmt::format("--output {}: {}: {}.", file.string(), checked.string(), std::strerror(errno)));
  }
}

void write_output(const fs::path& file, const std::function<void(std::ostream&)>& write) {
  if (file.empty()) {
    write(std::cout);
    if (!std::cout.flush()) {
      throw std::runtime_error(fmt::format("can't write to standard output: {}", std::strerror(errno)));
    }
    return;
  }
  if (is_special(file)) {
    write_to(file, write);
    return;
  }
  const fs::path destination = fs::exists(file) ? fs::canonical(file) : file;  // a symbolic link stays one
  const fs::path temporary = destination.string() + fmt::format(".{}.tmp", getpid());
  const Removal removal(temporary);
  write_to(temporary, write);
  fs::rename(temporary, destination);
}

}  // namespace flagos::diag
