#include "soak/gauges.h"

#include <c10/core/Allocator.h>
#include <c10/core/CPUAllocator.h>
#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>

#include "boxing/thread_state.h"
#include "flagos/routes.h"
#include "flagos/stats.h"

namespace flagos::testing {
namespace {

// The CPU's own allocator, counting.
class CountingAllocator final : public c10::Allocator {
 public:
  explicit CountingAllocator(c10::Allocator* real) : real_(real) {}
  c10::DataPtr allocate(size_t bytes) override {
    if (bytes == 0) {
      return real_->allocate(0);
    }
    void* const data = real_->raw_allocate(bytes);
    ++s_live;
    return {data, data, &release, c10::Device(c10::DeviceType::CPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &release; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  static int64_t live() { return s_live.load(); }

 private:
  static void release(void* data) {
    --s_live;
    c10::GetDefaultCPUAllocator()->raw_deallocate(data);
  }
  inline static std::atomic<int64_t> s_live{0};
  c10::Allocator* real_;
};

double entries_of(const char* folder) {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) {
    ++count;
  }
  return static_cast<double>(count);
}

double resident() {
  std::ifstream statm("/proc/self/statm");
  double pages = 0;
  statm >> pages >> pages;
  return pages * static_cast<double>(sysconf(_SC_PAGESIZE));
}

// Handed out by malloc in all arenas, what it has mapped apart included.
double heap() {
  const auto info = mallinfo2();
  return static_cast<double>(info.uordblks + info.hblkhd);
}

struct Threads {
  double states = 0;
  double made = 0;
  double bound = 0;
};

// A state that is not in use any more has no aliases.
Threads threads() {
  Threads total;
  for_each_thread(
      [](ThreadState& state, void* into) {
        auto* const sum = static_cast<Threads*>(into);
        sum->states += 1;
        sum->made += state.made;
        sum->bound += state.bound;
      },
      &total);
  return total;
}

double slope(const Series& series, size_t i, size_t j) {
  return (series.values[j] - series.values[i]) / (series.calls[j] - series.calls[i]);
}

size_t first_of_last_half(const Series& series) { return series.calls.size() / 2; }

double calls_in_last_half(const Series& series) {
  return series.calls.back() - series.calls[first_of_last_half(series)];
}

}  // namespace

const std::vector<Gauge>& gauges() {
  constexpr double kKib = 1024;
  static const auto* all = new std::vector<Gauge>{
      {"heap", "bytes", heap, 32 * kKib, 0.25},
      {"resident memory", "bytes", resident, 1024 * kKib, 1},
      {"blocks of the CPU allocator", "blocks", [] { return static_cast<double>(CountingAllocator::live()); }, 0.5, 0},
      {"aliases in pools", "aliases", [] { return threads().made; }, 0.5, 0},
      {"aliases bound", "aliases", [] { return threads().bound; }, 0.5, 0},
      {"states of threads", "states", [] { return threads().states; }, 0.5, 0},
      {"operators counted", "operators", [] { return static_cast<double>(stats().size()); }, 0.5, 0},
      {"routes", "routes", [] { return static_cast<double>(routes().size()); }, 0.5, 0},
      {"file descriptors", "handles", [] { return entries_of("/proc/self/fd"); }, 0.5, 0},
      {"threads", "threads", [] { return entries_of("/proc/self/task"); }, 0.5, 0},
  };
  return *all;
}

void count_cpu_memory() {
  c10::SetCPUAllocator(new CountingAllocator(c10::GetDefaultCPUAllocator()), /*priority=*/100);
}

double growth(const Series& series) {
  std::vector<double> slopes;
  for (size_t i = first_of_last_half(series); i < series.calls.size(); ++i) {
    for (size_t j = i + 1; j < series.calls.size(); ++j) {
      slopes.push_back(slope(series, i, j));
    }
  }
  const auto middle = slopes.begin() + static_cast<std::ptrdiff_t>(slopes.size() / 2);
  std::nth_element(slopes.begin(), middle, slopes.end());
  return *middle * calls_in_last_half(series);
}

double tolerance(const Gauge& gauge, const Series& series) {
  return std::max(gauge.tolerated, gauge.tolerated_per_call * calls_in_last_half(series));
}

}  // namespace flagos::testing
