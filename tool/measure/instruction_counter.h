// InstructionCounter: how many instructions a piece of work takes, where its time is too short or too noisy to tell.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flagos::diag {

class InstructionCounter {
 public:
  InstructionCounter() = default;
  InstructionCounter(const InstructionCounter&) = delete;
  InstructionCounter& operator=(const InstructionCounter&) = delete;
  InstructionCounter(InstructionCounter&&) = delete;
  InstructionCounter& operator=(InstructionCounter&&) = delete;
  virtual ~InstructionCounter() = default;

  // User-space instructions of the calling thread during work(), with a constant few of the counting's own. To be
  // called from the thread that made the counter. Throws std::runtime_error when there is no count, and what work()
  // throws.
  virtual uint64_t count(const std::function<void()>& work) = 0;
};

enum class CountingMethod { kPerf, kCallgrind };

// "perf", "callgrind". The string is static.
const char* counting_name(CountingMethod method) noexcept;
std::optional<CountingMethod> counting_method(std::string_view name);

// The processor's counter of retired instructions, by perf_event_open(2). Throws std::runtime_error that says why the
// kernel refuses and what to do.
std::unique_ptr<InstructionCounter> make_perf_counter();

// Callgrind's count, in a process that runs under callgrind_command(); `folder` is the one named there. Throws
// std::runtime_error when it doesn't, or when the tool was built without valgrind's headers.
std::unique_ptr<InstructionCounter> make_callgrind_counter(const std::filesystem::path& folder);

// Whether this build can talk to callgrind.
bool knows_callgrind() noexcept;

// The words to put before a command line, `valgrind` first, so that its process counts only when asked. Its counts go
// to files in `folder`.
std::vector<std::string> callgrind_command(const std::string& valgrind, const std::filesystem::path& folder);

}  // namespace flagos::diag
