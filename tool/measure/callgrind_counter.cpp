#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <stdexcept>

#include "measure/instruction_counter.h"

#ifdef FLAGOS_DIAG_CALLGRIND
#include <valgrind/callgrind.h>
#endif

namespace flagos::diag {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFileName = "counts";

}  // namespace

std::vector<std::string> callgrind_command(const std::string& valgrind, const fs::path& folder) {
  return {valgrind, "--tool=callgrind", "--instr-atstart=no", "--quiet",
          fmt::format("--callgrind-out-file={}.%p", (folder / kFileName).string())};
}

#ifdef FLAGOS_DIAG_CALLGRIND

namespace {

// Callgrind tells a program nothing: it writes files, of which "summary: 123" or "totals: 123" is the last such line.
uint64_t total_of(const fs::path& file) {
  std::ifstream lines(file);
  std::optional<uint64_t> total;
  for (std::string line; std::getline(lines, line);) {
    for (const std::string_view name : {"summary: ", "totals: "}) {
      uint64_t value = 0;
      if (line.starts_with(name) &&
          std::from_chars(line.data() + name.size(), line.data() + line.size(), value).ec == std::errc()) {
        total = value;
      }
    }
  }
  if (!total.has_value()) {
    throw std::runtime_error(fmt::format("callgrind wrote no count into {}", file.string()));
  }
  return *total;
}

class CallgrindCounter final : public InstructionCounter {
 public:
  explicit CallgrindCounter(fs::path folder)
      : folder_(std::move(folder)), prefix_(fmt::format("{}.{}.", kFileName, getpid())) {
    if (RUNNING_ON_VALGRIND == 0) {
      throw std::runtime_error("this process does not run under callgrind");
    }
  }

  uint64_t count(const std::function<void()>& work) override {
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_ZERO_STATS;
    try {
      work();
    } catch (...) {
      CALLGRIND_STOP_INSTRUMENTATION;
      throw;
    }
    CALLGRIND_STOP_INSTRUMENTATION;
    CALLGRIND_DUMP_STATS;
    return take_dump();
  }

 private:
  // The file that was just written; the one of the process's end has no number.
  uint64_t take_dump() const {
    for (const auto& entry : fs::directory_iterator(folder_)) {
      if (entry.path().filename().string().starts_with(prefix_)) {
        const uint64_t total = total_of(entry.path());
        fs::remove(entry.path());
        return total;
      }
    }
    throw std::runtime_error(fmt::format("callgrind wrote no file into {}", folder_.string()));
  }

  fs::path folder_;
  std::string prefix_;
};

}  // namespace

bool knows_callgrind() noexcept { return true; }

std::unique_ptr<InstructionCounter> make_callgrind_counter(const fs::path& folder) {
  return std::make_unique<CallgrindCounter>(folder);
}

#else

bool knows_callgrind() noexcept { return false; }

std::unique_ptr<InstructionCounter> make_callgrind_counter(const fs::path& /*folder*/) {
  throw std::runtime_error("this build does not know callgrind; install valgrind and build again");
}

#endif

}  // namespace flagos::diag
