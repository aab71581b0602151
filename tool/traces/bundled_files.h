// Where the data files are that come with the tool.
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace flagos::diag {

// The places where the file or folder `name` may be, the best first: beside the running program or library, since an
// installation or an unpacked archive may have been moved since it was built; where it was to be installed; where it
// was built, or in the source tree.
std::vector<std::filesystem::path> bundled_places(std::string_view name);

// The first of them that is there.
std::optional<std::filesystem::path> find_bundled(std::string_view name);

}  // namespace flagos::diag
