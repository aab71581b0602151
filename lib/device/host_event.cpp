#include "device/host_event.h"

#include <atomic>
#include <chrono>

namespace flagos::device {
namespace {

using Clock = std::chrono::steady_clock;

// One thread may record an event again while another asks for the time between it and a third.
using HostEvent = std::atomic<Clock::time_point>;

Clock::time_point time_of(const void* event) {
  return static_cast<const HostEvent*>(event)->load(std::memory_order_relaxed);
}

}  // namespace

void record_host_event(void** event) {
  if (*event == nullptr) {
    *event = new HostEvent(Clock::now());
  } else {
    static_cast<HostEvent*>(*event)->store(Clock::now(), std::memory_order_relaxed);
  }
}

void release_host_event(void* event) noexcept { delete static_cast<HostEvent*>(event); }

double host_event_milliseconds(const void* first, const void* second) {
  return std::chrono::duration<double, std::milli>(time_of(second) - time_of(first)).count();
}

}  // namespace flagos::device
