#include "isolation/worker_message.h"

#include <array>
#include <stdexcept>
#include <utility>

namespace flagos::diag {
namespace {

using Kind = WorkerMessage::Kind;

constexpr int kMaxDepth = 64;
constexpr const char* kNoMessage = "the worker answered with a line that is no message";
constexpr std::array<std::pair<const char*, Kind>, 3> kTexts = {
    {{"begin", Kind::kBegin}, {"stage", Kind::kStage}, {"done", Kind::kDone}}};

}  // namespace

WorkerMessage parse_message(std::string_view line) {
  const auto check = [](int depth, Row::parse_event_t /*event*/, const Row& /*parsed*/) {
    return depth <= kMaxDepth ? true : throw NoMessage(kNoMessage);  // to copy or print a value recurses
  };
  Row message = Row::parse(line, check, false);
  if (message.is_object() && line.find('\0') == std::string_view::npos) {
    const auto row = message.find("row");
    if (row != message.end() && row->is_object()) {
      return {Kind::kRow, "", std::move(*row)};
    }
    for (const auto& [name, kind] : kTexts) {
      const auto text = message.find(name);
      if (text != message.end() && text->is_string()) {
        const auto spent = message.find("spent");
        return {kind, text->get<std::string>(), nullptr, spent != message.end() && *spent == Row(true)};
      }
    }
  }
  throw NoMessage(kNoMessage);
}

}  // namespace flagos::diag
