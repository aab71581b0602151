#include "traces/argument_source.h"

#include <optional>
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
    // A call without a number is nobody's parent.
    if (call.node != 0 && !places_of_nodes_.try_emplace(call.node, entries_.size()).second) {
      throw std::runtime_error(call.origin + ": another call has the same id. Two traces in one file can't be told " +
                               "apart; give one.");
    }
    entries_.push_back({{call.op, number}, call.parent, kernel_kind(call.op) == KernelKind::kComposite, {}});
  }

  // Throws std::runtime_error, which `file` begins, when calls are made in a circle.
  std::vector<ArgumentSource::Place> outermost(const std::string& file) {
    refuse_circles(file);
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
    std::optional<bool> within_kernel;  // of a composite call, once it is known: a long chain is walked once
  };

  // Null: no call is above it. A root is its own parent.
  Entry* caller_of(const Entry& entry) {
    const auto found = places_of_nodes_.find(entry.parent);
    const bool told = found != places_of_nodes_.end() && &entries_[found->second] != &entry;
    return told ? &entries_[found->second] : nullptr;
  }

  void refuse_circles(const std::string& file) {
    std::unordered_map<const Entry*, const Entry*> walked_from;
    for (const Entry& start : entries_) {
      for (const Entry* at = &start; at != nullptr; at = caller_of(*at)) {
        const auto [earlier, is_new] = walked_from.try_emplace(at, &start);
        if (!is_new && earlier->second == &start) {
          throw std::runtime_error(file + ": by their parents' ids, a call of " + at->place.op +
                                   " was made within itself. Record the trace again.");
        }
        if (!is_new) {
          break;
        }
      }
    }
  }

  bool within_kernel(const Entry& entry) {
    std::vector<Entry*> walked;
    Entry* caller = caller_of(entry);
    for (; caller != nullptr && caller->composite && !caller->within_kernel.has_value(); caller = caller_of(*caller)) {
      walked.push_back(caller);
    }
    const bool within = caller != nullptr && caller->within_kernel.value_or(true);  // a kernel's own is never asked for
    for (Entry* each : walked) {
      each->within_kernel = within;
    }
    return within;
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
  source.sequence_ = sequence.outermost(file.filename().string());
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
