#include "traces/argument_source.h"

#include <stdexcept>
#include <system_error>
#include <unordered_set>

#include "traces/exact_repeats.h"
#include "traces/execution_trace.h"

// Where the build puts the corpus, and where it is installed; both come from Meson.
#ifndef FLAGOS_CORPUS_BUILD
#define FLAGOS_CORPUS_BUILD ""
#endif
#ifndef FLAGOS_CORPUS_INSTALLED
#define FLAGOS_CORPUS_INSTALLED ""
#endif

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

// Beside the running program first: an installation or an unpacked archive may have been moved since it was built.
std::vector<fs::path> corpus_places() {
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    places.push_back((program.parent_path() / "../share/flagos/corpus.json").lexically_normal());
  }
  for (const char* place : {FLAGOS_CORPUS_INSTALLED, FLAGOS_CORPUS_BUILD}) {
    if (*place != '\0') {
      places.emplace_back(place);
    }
  }
  return places;
}

}  // namespace

ArgumentSource ArgumentSource::from_trace(const fs::path& file) {
  ArgumentSource source;
  std::unordered_set<std::string> seen;
  source.warnings_ = read_execution_trace(file, [&](CallRecord&& call) {
    if (seen.insert(repeat_key(call)).second) {
      std::vector<CallRecord>& calls = source.calls_[call.op];
      calls.push_back(std::move(call));
    }
  });
  return source;
}

ArgumentSource ArgumentSource::bundled() {
  std::string tried;
  for (const fs::path& place : corpus_places()) {
    std::error_code error;
    if (fs::exists(place, error)) {
      return from_trace(place);
    }
    tried += (tried.empty() ? "" : ", ") + place.string();
  }
  throw std::runtime_error("the bundled corpus is missing; looked for " + tried +
                           ". Build it with 'ninja -C build' or install the project, or pass --trace FILE.");
}

const std::vector<CallRecord>& ArgumentSource::calls(std::string_view op) const {
  static const std::vector<CallRecord> none;
  const auto found = calls_.find(op);
  return found != calls_.end() ? found->second : none;
}

std::vector<std::string> ArgumentSource::operators() const {
  std::vector<std::string> names;
  names.reserve(calls_.size());
  for (const auto& entry : calls_) {
    names.push_back(entry.first);
  }
  return names;
}

}  // namespace flagos::diag
