#include "report/bounded_json.h"

#include <fmt/format.h>

#include <vector>

#include "cli/exit_code.h"

namespace flagos::diag {
namespace {

using Event = Row::parse_event_t;

constexpr size_t kMaxDepth = 64;                 // a document of this tool is nested less than 10 deep
constexpr size_t kMaxValues = size_t{1} << 22;   // verify --all -v writes a million; each takes about 100 bytes
constexpr size_t kMaxLookups = size_t{1} << 28;  // comparisons of names: a second

// nlohmann's callback, which sees the text as the parser goes through it.
class Limits {
 public:
  // Null: within them.
  const char* exceeded(int depth, Event event) {
    if (event == Event::object_start || event == Event::array_start) {
      fields_.resize(static_cast<size_t>(depth) + 1);
      fields_.back() = 0;
    }
    if (event == Event::key) {
      fields_.resize(static_cast<size_t>(depth));
      lookups_ += fields_.back()++;
    }
    values_ += event == Event::array_end || event == Event::object_end ? 0 : 1;
    return fields_.size() > kMaxDepth ? "nests values more than 64 deep"
           : values_ > kMaxValues     ? "holds more than 4 million values"
           : lookups_ > kMaxLookups   ? "has an object of far too many fields"
                                      : nullptr;
  }

 private:
  std::vector<size_t> fields_;  // seen so far, of each object that is open
  size_t values_ = 0;
  size_t lookups_ = 0;
};

}  // namespace

Row parse_bounded(std::string_view text, const std::filesystem::path& file, std::string_view remedy) {
  Limits limits;
  const auto check = [&](int depth, Event event, const Row& /*parsed*/) {
    if (const char* how = limits.exceeded(depth, event)) {
      throw UsageError(fmt::format("{}: {}; no document of flagos-diag does that. {}", file.string(), how, remedy));
    }
    return true;
  };
  Row parsed = Row::parse(text, check, false);
  if (parsed.is_discarded() || text.find('\0') != std::string_view::npos) {  // nlohmann's parser would stop there
    throw UsageError(fmt::format("{}: is not one JSON document. {}", file.string(), remedy));
  }
  return parsed;
}

}  // namespace flagos::diag
