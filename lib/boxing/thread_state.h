// ThreadState: what a thread keeps between calls (the alias pool, its counters, its kill switch).
#pragma once

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <array>
#include <atomic>
#include <cstdint>

#include "boxing/alias.h"
#include "flagos/redispatch.h"

namespace flagos {

// Note [One thread-local pointer]
// The hot path reads one initial-exec thread-local pointer and finds everything behind it. The state itself is on the
// heap (static TLS of a library loaded with dlopen is scarce) and is listed in a registry, so that counters of all
// threads can be summed and the process-wide switch can reach every thread.
struct ThreadState {
  static constexpr size_t kIndexBuckets = 512;
  static constexpr uint32_t kMaxPooled = 1024;
  static constexpr size_t kReasons = static_cast<size_t>(Reason::kCount);

  // The pool, a stack: calls now running on this thread have bound the first `bound` aliases, a nested call's above its
  // caller's; those up to `made` are free. Never shared, hence no lock.
  boxing::Alias** aliases = nullptr;
  uint32_t bound = 0;
  uint32_t made = 0;
  uint32_t room = 0;  // slots allocated

  // Buckets of Frame's duplicate index, empty between calls.
  std::array<boxing::Alias*, kIndexBuckets> index{};

  // This thread's dispatch-key sets. Through its address, reading them costs no call of __tls_get_addr.
  const c10::impl::PODLocalDispatchKeySet* local_keys = nullptr;

  // 1 when the fast path is off for this thread: the override, or else the process-wide switch.
  std::atomic<uint8_t> off{0};
  // Override by RedispatchGuard: 0 none, 1 on, 2 off.
  std::atomic<uint8_t> override_switch{0};

  // Counters by operator id; written by this thread alone, read by any (relaxed). Grown under the registry's lock.
  std::atomic<uint64_t>* hits = nullptr;
  std::atomic<uint64_t>* direct = nullptr;   // calls of hand-written kernels
  std::atomic<uint64_t>* refused = nullptr;  // [operator id * kReasons + reason]
};

namespace detail {
// constinit: a reader need not ask whether it has been initialised.
extern constinit thread_local ThreadState* tls_state __attribute__((tls_model("initial-exec")));
ThreadState& make_thread_state();
}  // namespace detail

inline ThreadState& thread_state() {
  ThreadState* state = detail::tls_state;
  return C10_LIKELY(state != nullptr) ? *state : detail::make_thread_state();
}

[[gnu::always_inline]] inline void count(std::atomic<uint64_t>& counter) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Calls `visit` for the state of every live thread, under the registry's lock.
void for_each_thread(void (*visit)(ThreadState&, void*), void* context);

// Number of operator ids the counters have room for; ids are given out at registration (see kernel/registration.h).
inline constexpr size_t kMaxOperators = 4096;

}  // namespace flagos
