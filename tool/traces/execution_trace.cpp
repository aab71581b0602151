#include "traces/execution_trace.h"

#include <nlohmann/json.hpp>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <system_error>

#include "report/foreign_text.h"
#include "traces/metered_input.h"
#include "traces/trace_node.h"

namespace flagos::diag {
namespace {

using nlohmann::json;
using Event = json::parse_event_t;

constexpr uintmax_t kMaxFileBytes = uintmax_t{2} << 30;
constexpr int kMaxDepth = 64;                // a node of a real trace is nested less than 12 deep
constexpr size_t kMaxNodeValues = 1u << 20;  // bounds the memory of one node; the longest recorded list has 4096 items
constexpr size_t kMaxNodeBytes = 1u << 25;
constexpr size_t kMaxCauses = 20;       // of calls passed over that are told apart
constexpr size_t kShownOfParser = 300;  // bytes of nlohmann's message, which quotes what it last read
constexpr int kKnownMajor = 1;          // of "1.1.1-chakra.0.0.4"
constexpr int kNodesDepth = 2;          // of an element of the top-level "nodes" list

constexpr const char* kRemedy =
    " Record it again with torch.profiler.ExecutionTraceObserver, and call unregister_callback() before the file is"
    " read or copied.";

// Sees the file as the parser goes through it. Nodes are converted and dropped one at a time, so a trace of a million
// calls needs the memory of one; everything but "schema" and "nodes" is passed over without being kept.
class NodeReader {
 public:
  NodeReader(std::istream& input, const std::string& name, const TakeCall& take)
      : name_(name), take_(take), input_(input, kMaxNodeBytes, [this](const char* why) {
          throw std::runtime_error(place() + ": " + why + "." + kRemedy);
        }) {}

  std::streambuf& input() { return input_; }

  // nlohmann's callback: false drops the value.
  bool operator()(int depth, Event event, json& parsed) {
    if (depth > kMaxDepth) {
      throw std::runtime_error(place() + ": nested more than " + std::to_string(kMaxDepth) +
                               " deep, which no execution trace is." + kRemedy);
    }
    if (event == Event::key && depth == 1) {
      key_ = parsed.get<std::string>();
    }
    count_value(event);
    if (depth == kNodesDepth && key_ == "nodes" && (event == Event::value || event == Event::array_start)) {
      throw std::runtime_error(place() + ": something in its list of nodes is no object." + kRemedy);
    }
    if (event == Event::value) {
      return take_value(depth, parsed);
    }
    if ((event == Event::array_start || event == Event::object_start) && depth == 1) {
      found_nodes_ |= key_ == "nodes" && event == Event::array_start;
      return key_ == "nodes";
    }
    if (event == Event::object_end && depth == kNodesDepth && key_ == "nodes") {
      take_node(parsed);
      return false;
    }
    return true;
  }

  std::string place() const { return name_ + (last_node_.empty() ? std::string() : ": after node " + last_node_); }

  std::vector<std::string> finish() const {
    if (schema_.empty() || !found_nodes_) {
      throw std::runtime_error(name_ + ": is no PyTorch execution trace (it has no " +
                               (schema_.empty() ? "\"schema\"" : "\"nodes\"") + ")." + kRemedy);
    }
    std::vector<std::string> warnings = schema_warnings();
    for (const auto& [cause, count] : passed_over_) {
      warnings.push_back(name_ + ": " + std::to_string(count) + (count == 1 ? " call" : " calls") +
                         " passed over: " + cause);
    }
    if (nodes_ > 0 && calls_ == 0) {
      warnings.push_back(name_ + ": none of its " + std::to_string(nodes_) +
                         " nodes is a call that can be replayed; traces from before PyTorch 2.0 have no op_schema");
    }
    return warnings;
  }

 private:
  bool take_value(int depth, const json& parsed) {
    if (depth == 1 && key_ == "schema" && parsed.is_string()) {
      schema_ = parsed.get<std::string>();
    }
    return depth > 1;
  }

  // Lists, objects and keys take memory too, however empty.
  void count_value(Event event) {
    const bool ends = event == Event::array_end || event == Event::object_end;
    if (!ends && ++node_values_ > kMaxNodeValues) {
      throw std::runtime_error(place() + ": a node has more than a million values, which no execution trace has." +
                               kRemedy);
    }
  }

  void take_node(const json& node) {
    ++nodes_;
    node_values_ = 0;
    input_.pass();
    const auto id = node.find("id");
    last_node_ = id != node.end() && id->is_number_integer() ? id->dump() : "number " + std::to_string(nodes_);
    try {
      if (std::optional<CallRecord> call = call_of_node(node)) {
        call->origin = name_ + ": node " + last_node_;
        ++calls_;
        take_(std::move(*call));
      }
    } catch (const NotReplayable& error) {
      pass_over(error.what());
    } catch (const BadTrace& error) {
      if (!is_newer()) {
        throw std::runtime_error(name_ + ": node " + last_node_ + ": " + error.what() + "." + kRemedy);
      }
      pass_over("its form is of the newer schema (" + std::string(error.what()) + ")");
    }
  }

  void pass_over(const std::string& cause) {
    const bool told_apart = passed_over_.size() < kMaxCauses || passed_over_.contains(cause);
    ++passed_over_[told_apart ? cause : "other causes"];
  }

  // As far as was read: the schema comes before the nodes.
  bool is_newer() const {
    char* end = nullptr;
    const long major = std::strtol(schema_.c_str(), &end, 10);
    return !schema_.empty() && (end == schema_.c_str() || major > kKnownMajor);
  }

  std::vector<std::string> schema_warnings() const {
    if (!is_newer()) {
      return {};
    }
    return {name_ + ": has schema '" + foreign_text(schema_, 40) + "', newer than the known " +
            std::to_string(kKnownMajor) + ".x; read as if it were " + std::to_string(kKnownMajor) + ".x"};
  }

  const std::string& name_;
  const TakeCall& take_;
  std::string key_;
  std::string schema_;
  std::string last_node_;
  bool found_nodes_ = false;
  size_t nodes_ = 0;
  size_t calls_ = 0;
  size_t node_values_ = 0;
  std::map<std::string, size_t> passed_over_;
  MeteredInput input_;
};

}  // namespace

std::vector<std::string> read_execution_trace(std::istream& input, const std::string& name, const TakeCall& take) {
  NodeReader reader(input, name, take);
  std::istream metered(&reader.input());
  try {
    // Wrapped, since the parser copies its callback.
    const json rest =
        json::parse(metered, [&](int depth, Event event, json& parsed) { return reader(depth, event, parsed); });
    (void)rest;  // what is left without the nodes
  } catch (const json::exception& error) {
    throw std::runtime_error(reader.place() + ": is not complete JSON (" + foreign_text(error.what(), kShownOfParser) +
                             ")." + kRemedy);
  }
  return reader.finish();
}

std::vector<std::string> read_execution_trace(const std::filesystem::path& file, const TakeCall& take) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) {
    const std::string why = error ? error.message() : "it is no regular file";
    throw std::runtime_error(file.string() + ": can't be read: " + why + ". Give the path of an execution trace.");
  }
  if (std::filesystem::file_size(file) > kMaxFileBytes) {
    throw std::runtime_error(file.string() + ": is larger than 2 GiB. Record fewer iterations; one step is enough.");
  }
  std::ifstream input(file, std::ios::binary);
  if (!input) {
    throw std::runtime_error(file.string() + ": can't be opened: " + std::strerror(errno) +
                             ". Give the path of an execution trace that you may read.");
  }
  return read_execution_trace(input, file.filename().string(), take);
}

}  // namespace flagos::diag
