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

constexpr int kMostLinks = 40;  // as many as the kernel follows

bool is_special(const fs::path& file) {
  std::error_code ignored;
  return fs::exists(file, ignored) && !fs::is_regular_file(file, ignored);
}

fs::path directory_of(const fs::path& file) { return file.has_parent_path() ? file.parent_path() : fs::path("."); }

// Where `file` leads, be there a file yet or not: a symbolic link stays one.
fs::path destination_of(fs::path file) {
  std::error_code ignored;
  for (int links = 0; links < kMostLinks && fs::is_symlink(file, ignored); ++links) {
    file = directory_of(file) / fs::read_symlink(file);
  }
  return file;
}

// `like`, if there is one: who may read what it holds now may read what it will hold.
void write_to(const fs::path& file, const std::function<void(std::ostream&)>& write, const fs::path& like = {}) {
  std::ofstream out(file, std::ios::binary | std::ios::trunc);
  if (out) {
    if (std::error_code none; fs::exists(like, none)) {
      fs::permissions(file, fs::status(like).permissions());
    }
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
  const fs::path checked = is_special(file) ? file : directory_of(destination_of(file));
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
  const fs::path destination = destination_of(file);
  const fs::path temporary = destination.string() + fmt::format(".{}.tmp", getpid());
  const Removal removal(temporary);
  write_to(temporary, write, destination);
  fs::rename(temporary, destination);
}

}  // namespace flagos::diag
