#include "boxing/thread_state.h"

#include <pthread.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <vector>

#include "redispatch/switch.h"

namespace flagos {
namespace {

struct Registry {
  std::mutex mutex;
  std::vector<ThreadState*> live;
  ThreadState ended;
};

// Never destroyed: threads may end after static destructors have run.
Registry& registry() {
  static auto* instance = [] {
    auto* made = new Registry();
    // Another thread's lock would stay locked for ever in a forked child.
    pthread_atfork([] { registry().mutex.lock(); }, [] { registry().mutex.unlock(); },
                   [] { registry().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

using Counters = std::atomic<uint64_t>;

// Zeroed on demand by the system: a thread pays for the pages of the operators it calls.
Counters* allocate(size_t count) { return static_cast<Counters*>(std::calloc(count, sizeof(Counters))); }

// All or none. Throws std::bad_alloc.
void allocate_counters(ThreadState& state) {
  struct Free {
    void operator()(Counters* counters) const noexcept { std::free(counters); }
  };
  std::unique_ptr<Counters, Free> hits(allocate(kMaxOperators));
  std::unique_ptr<Counters, Free> direct(allocate(kMaxOperators));
  std::unique_ptr<Counters, Free> refused(allocate(kMaxOperators * ThreadState::kReasons));
  if (hits == nullptr || direct == nullptr || refused == nullptr) {
    throw std::bad_alloc();
  }
  state.hits = hits.release();
  state.direct = direct.release();
  state.refused = refused.release();
}

void add_counters(Counters* to, Counters* from, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    if (const uint64_t value = from[i].load(std::memory_order_relaxed); value != 0) {
      to[i].store(to[i].load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
    }
  }
  std::free(from);
}

// Ends the thread's state: counters are kept, pooled aliases freed. A call made by a later thread-local destructor
// starts a new state, which then lives as long as the process.
struct ThreadExit {
  bool armed = false;
  ~ThreadExit() {
    ThreadState* state = std::exchange(detail::tls_state, nullptr);
    if (state == nullptr) {
      return;
    }
    while (state->made != 0) {
      state->aliases[--state->made]->destroy_free();
    }
    std::free(state->aliases);
    auto& all = registry();
    const std::lock_guard lock(all.mutex);
    std::erase(all.live, state);
    add_counters(all.ended.hits, state->hits, kMaxOperators);
    add_counters(all.ended.direct, state->direct, kMaxOperators);
    add_counters(all.ended.refused, state->refused, kMaxOperators * ThreadState::kReasons);
    delete state;
  }
};

}  // namespace

namespace detail {

constinit thread_local ThreadState* tls_state __attribute__((tls_model("initial-exec"))) = nullptr;

C10_NOINLINE ThreadState& make_thread_state() {
  static thread_local ThreadExit exit_guard;
  exit_guard.armed = true;
  auto state = std::make_unique<ThreadState>();
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.ended.hits == nullptr) {
    allocate_counters(all.ended);
  }
  all.live.reserve(all.live.size() + 1);
  allocate_counters(*state);  // last of what may throw
  all.live.push_back(state.get());
  state->local_keys = &c10::impl::raw_local_dispatch_key_set;
  state->off.store(redispatch_switch::process_bits(), std::memory_order_relaxed);
  tls_state = state.release();
  return *tls_state;
}

}  // namespace detail

void for_each_thread(void (*visit)(ThreadState&, void*), void* context) {
  auto& all = registry();
  const std::lock_guard lock(all.mutex);
  if (all.ended.hits == nullptr) {
    allocate_counters(all.ended);
  }
  for (ThreadState* state : all.live) {
    visit(*state, context);
  }
  visit(all.ended, context);
}

}  // namespace flagos
