#include <fmt/format.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <stdexcept>

#include "measure/instruction_counter.h"

namespace flagos::diag {
namespace {

constexpr const char* kParanoia = "/proc/sys/kernel/perf_event_paranoid";
constexpr uint64_t kProbe = 1000;  // additions; a counter that works sees at least as many instructions

std::string refusal(int error) {
  switch (error) {
    case EACCES:
    case EPERM: {
      std::string level;
      std::getline(std::ifstream(kParanoia), level);
      return fmt::format(
          "{} (kernel.perf_event_paranoid is {}; 'sysctl kernel.perf_event_paranoid=2' allows it, in a "
          "container also --cap-add PERFMON)",
          std::strerror(error), level.empty() ? "not told" : level);
    }
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
      return fmt::format("{}: there is no hardware counter, as in most virtual machines", std::strerror(error));
    case ENOSYS:
      return "the kernel was built without perf events";
    default:
      return std::strerror(error);
  }
}

class PerfCounter final : public InstructionCounter {
 public:
  PerfCounter() {
    perf_event_attr wanted{};
    wanted.size = sizeof(wanted);
    wanted.type = PERF_TYPE_HARDWARE;
    wanted.config = PERF_COUNT_HW_INSTRUCTIONS;
    wanted.exclude_kernel = 1;
    wanted.exclude_hv = 1;
    wanted.pinned = 1;  // all the time or not at all: a share of it, scaled up, is an estimate
    fd_ = static_cast<int>(syscall(SYS_perf_event_open, &wanted, 0, -1, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd_ < 0) {
      throw std::runtime_error(fmt::format("perf_event_open: {}", refusal(errno)));
    }
    try {
      require_counting();
    } catch (...) {
      close(fd_);
      throw;
    }
  }
  ~PerfCounter() override { close(fd_); }
  PerfCounter(const PerfCounter&) = delete;
  PerfCounter& operator=(const PerfCounter&) = delete;
  PerfCounter(PerfCounter&&) = delete;
  PerfCounter& operator=(PerfCounter&&) = delete;

  uint64_t count(const std::function<void()>& work) override {
    const uint64_t before = value();
    work();
    return value() - before;
  }

 private:
  // Some hypervisors let the counter be opened and then never move it.
  void require_counting() {
    volatile uint64_t sum = 0;
    const uint64_t seen = count([&] {
      for (uint64_t i = 0; i < kProbe; ++i) {
        sum = sum + i;
      }
    });
    if (seen < kProbe) {
      throw std::runtime_error("perf_event_open: the counter stands still, as in some virtual machines");
    }
  }

  uint64_t value() const {
    uint64_t value = 0;
    const ssize_t got = read(fd_, &value, sizeof(value));
    if (got != static_cast<ssize_t>(sizeof(value))) {
      throw std::runtime_error(got == 0 ? "the counter of instructions is in use by another program"
                                        : fmt::format("reading the counter of instructions: {}", std::strerror(errno)));
    }
    return value;
  }

  int fd_ = -1;
};

}  // namespace

std::unique_ptr<InstructionCounter> make_perf_counter() { return std::make_unique<PerfCounter>(); }

}  // namespace flagos::diag
