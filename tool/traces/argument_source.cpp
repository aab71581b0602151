#include "traces/argument_source.h"

#include <stdexcept>
#include <unordered_map>

#include "flagos/stats.h"
#include "traces/bundled_files.h"
#include "traces/exact_repeats.h"
#include "traces/execution_trace.h"

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCorpus = "corpus.json";

class Sequence {
 public:
  void add(const CallRecord& call, size_t number) {
    places_of_nodes_[call.node] = entries_.size();
    entries_.push_back({{call.op, number}, call.parent, kernel_kind(call.op) == KernelKind::kComposite});
  }

  std::vector<ArgumentSource::Place> outermost() const {
    std::vector<ArgumentSource::Place> places;
    for (const Entry& entry : entries_) {
      if (!entry.composite && !within_kernel(entry)) {
        places.push_back(entry.place);
      }
    }
    return places;
  }

 private:
  struct Entry {
    ArgumentSource::Place place;
    int64_t parent;
    bool composite;
  };

  // A node may lie and name itself or its child as its parent: no chain is longer than there are calls.
  bool within_kernel(const Entry& entry) const {
    auto above = places_of_nodes_.find(entry.parent);
    for (size_t steps = 0; above != places_of_nodes_.end() && steps < entries_.size(); ++steps) {
      const Entry& caller = entries_[above->second];
      if (!caller.composite) {
        return &caller != &entry;
      }
      above = places_of_nodes_.find(caller.parent);
    }
    return false;
  }

  std::vector<Entry> entries_;
  std::unordered_map<int64_t, size_t> places_of_nodes_;
};

}  // namespace

ArgumentSource ArgumentSource::from_trace(const fs::path& file) {
  ArgumentSource source;
  std::unordered_map<std::string, size_t> seen;
  Sequence sequence;
  source.warnings_ = read_execution_trace(file, [&](CallRecord&& call) {
    std::vector<CallRecord>& calls = source.calls_[call.op];
    const auto [place, is_new] = seen.try_emplace(repeat_key(call), calls.size());
    sequence.add(call, place->second);
    if (is_new) {
      calls.push_back(std::move(call));
    }
  });
  source.sequence_ = sequence.outermost();
  return source;
}

ArgumentSource ArgumentSource::bundled() {
  if (const auto file = find_bundled(kCorpus)) {
    return from_trace(*file);
  }
  std::string tried;
  for (const fs::path& place : bundled_places(kCorpus)) {
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
