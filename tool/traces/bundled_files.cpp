#include "traces/bundled_files.h"

#include <algorithm>
#include <system_error>

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

// Folders, from Meson. The last is for what the build doesn't make.
constexpr const char* kFolders[] = {FLAGOS_DATA_INSTALLED, FLAGOS_DATA_BUILD, FLAGOS_DATA_SOURCE};

}  // namespace

std::vector<fs::path> bundled_places(std::string_view name) {
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.push_back((program.parent_path() / "../share/flagos" / name).lexically_normal());
  }
  for (const char* folder : kFolders) {
    places.push_back(fs::path(folder) / name);
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
