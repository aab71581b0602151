#include "traces/bundled_files.h"

#include <dlfcn.h>

#include <algorithm>
#include <system_error>

#include "cli/build_places.h"

namespace flagos::diag {

namespace fs = std::filesystem;

namespace {

// The folders of the running program and of the file that this code is in, the worker's library in a Python process.
std::vector<fs::path> own_folders() {
  std::vector<fs::path> folders;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    folders.push_back(program.parent_path());
  }
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_folders), &info) != 0 && info.dli_fname != nullptr) {
    const fs::path file = fs::weakly_canonical(info.dli_fname, error);
    if (!error && file.parent_path() != program.parent_path()) {
      folders.push_back(file.parent_path());
    }
  }
  return folders;
}

}  // namespace

std::vector<fs::path> bundled_places(std::string_view name) {
  std::vector<fs::path> places;
  for (const fs::path& folder : own_folders()) {
    places.push_back((folder / "../share/flagos" / name).lexically_normal());
  }
  for (const char* folder : build_places().data) {
    if (*folder != '\0') {
      places.push_back(fs::path(folder) / name);
    }
  }
  return places;
}

std::optional<fs::path> find_bundled(std::string_view name) {
  const auto places = bundled_places(name);
  std::error_code error;
  const auto found =
      std::find_if(places.begin(), places.end(), [&](const fs::path& place) { return fs::exists(place, error); });
  return found != places.end() ? std::optional<fs::path>(*found) : std::nullopt;
}

}  // namespace flagos::diag
