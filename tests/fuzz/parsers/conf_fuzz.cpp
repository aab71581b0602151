// Route files. The input is up to four files, told apart by a byte 0x1e: a.conf, which is read, then b.conf, c.conf and
// sub/d.conf, which it may include.
#include <c10/util/Exception.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "fuzz_target.h"
#include "routes/conf.h"

namespace flagos::fuzz {
namespace {

namespace fs = std::filesystem;

constexpr char kNextFile = '\x1e';
constexpr std::array kFiles = {"a.conf", "b.conf", "c.conf", "sub/d.conf"};

// Lives as long as the process, and is removed at its end.
class Folder {
 public:
  Folder() {
    std::string name = (fs::temp_directory_path() / "flagos-conf-XXXXXX").string();
    path_ = ::mkdtemp(name.data());
    fs::create_directory(path_ / "sub");
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

void write_files(const fs::path& folder, std::string_view input) {
  for (const char* name : kFiles) {
    const size_t end = input.find(kNextFile);
    const std::string_view content = input.substr(0, end);
    std::ofstream(folder / name, std::ios::binary).write(content.data(), static_cast<std::streamsize>(content.size()));
    input.remove_prefix(end == std::string_view::npos ? input.size() : end + 1);
  }
}

}  // namespace

bool accepts(std::string_view input) {
  static const Folder folder;
  write_files(folder.path(), input);
  try {
    for (const routing::Order& order : routing::read_conf(folder.path() / kFiles[0])) {
      require_clear(order.where, folder.path().native());
      if (order.op.empty() || order.backend.empty()) {
        std::abort();
      }
    }
    return true;
  } catch (const c10::Error& error) {
    require_clear(error.what_without_backtrace(), folder.path().native());
  }
  return false;
}

}  // namespace flagos::fuzz
