#include "redispatch/switch.h"

#include <atomic>

#include "boxing/thread_state.h"
#include "flagos/redispatch.h"

namespace flagos {
namespace {

std::atomic<bool> g_process_off{false};
std::atomic<bool> g_log{false};

enum Override : uint8_t { kNone = 0, kOn = 1, kOff = 2 };

// Each thread reads one byte on the hot path; here it is derived from its override and the process-wide switch. Both
// may change meanwhile, one on the thread and one on any other: whoever stores last must have seen both, so each looks
// again after its store (sequentially consistent, all of it).
void refresh(ThreadState& state, void* /*context*/) {
  const auto derived = [&state] {
    const uint8_t override_switch = state.override_switch.load();
    const uint8_t process = redispatch_switch::process_bits();
    const uint8_t off =
        override_switch == kNone ? process & redispatch_switch::kOffBit : uint8_t{override_switch == kOff};
    return static_cast<uint8_t>(off | (process & redispatch_switch::kLogBit));
  };
  for (uint8_t stored = derived();; stored = derived()) {
    state.off.store(stored);
    if (derived() == stored) {
      return;
    }
  }
}

}  // namespace

namespace redispatch_switch {

uint8_t process_bits() noexcept {
  return (g_process_off.load() ? kOffBit : 0) | (g_log.load(std::memory_order_relaxed) ? kLogBit : 0);
}

void initialise(bool off, bool log) noexcept {
  g_process_off.store(off, std::memory_order_relaxed);
  g_log.store(log, std::memory_order_relaxed);
}

}  // namespace redispatch_switch

void set_redispatch_enabled(bool enabled) noexcept {
  g_process_off.store(!enabled);
  for_each_thread(refresh, nullptr);
}

bool redispatch_enabled() noexcept {
  return (thread_state().off.load(std::memory_order_relaxed) & redispatch_switch::kOffBit) == 0;
}

RedispatchGuard::RedispatchGuard(bool enabled) noexcept
    : previous_(thread_state().override_switch.load(std::memory_order_relaxed)) {
  auto& state = thread_state();
  state.override_switch.store(enabled ? kOn : kOff);
  refresh(state, nullptr);
}

RedispatchGuard::~RedispatchGuard() {
  auto& state = thread_state();
  state.override_switch.store(previous_);
  refresh(state, nullptr);
}

}  // namespace flagos
