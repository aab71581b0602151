#include "hot_path/counted_calls.h"

#include <dlfcn.h>
#include <pthread.h>

#include <cerrno>
#include <cstddef>

// glibc's own names for its functions: dlsym() itself allocates, so malloc can't be found by it.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t alignment, size_t size);
}

namespace {

// Of initial-exec storage: that of other models may be allocated by malloc itself.
[[gnu::tls_model("initial-exec")]] constinit thread_local flagos::testing::Counts tls_counts;

void* aligned(size_t alignment, size_t size) {
  ++tls_counts.allocations;
  return __libc_memalign(alignment, size);
}

// Found at the first call, which is long before anything is counted.
template <class Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

void* malloc(size_t size) {
  ++tls_counts.allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++tls_counts.allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  ++tls_counts.allocations;
  return __libc_realloc(memory, size);
}
void* memalign(size_t alignment, size_t size) { return aligned(alignment, size); }
void* aligned_alloc(size_t alignment, size_t size) { return aligned(alignment, size); }
int posix_memalign(void** memory, size_t alignment, size_t size) {
  void* const made = aligned(alignment, size);
  if (made == nullptr) {
    return ENOMEM;
  }
  *memory = made;
  return 0;
}

int pthread_mutex_lock(pthread_mutex_t* mutex) {
  static auto* const theirs = next<int(pthread_mutex_t*)>("pthread_mutex_lock");
  ++tls_counts.locks;
  return theirs(mutex);
}
int pthread_mutex_trylock(pthread_mutex_t* mutex) {
  static auto* const theirs = next<int(pthread_mutex_t*)>("pthread_mutex_trylock");
  ++tls_counts.locks;
  return theirs(mutex);
}
int pthread_rwlock_rdlock(pthread_rwlock_t* lock) {
  static auto* const theirs = next<int(pthread_rwlock_t*)>("pthread_rwlock_rdlock");
  ++tls_counts.locks;
  return theirs(lock);
}
int pthread_rwlock_wrlock(pthread_rwlock_t* lock) {
  static auto* const theirs = next<int(pthread_rwlock_t*)>("pthread_rwlock_wrlock");
  ++tls_counts.locks;
  return theirs(lock);
}

}  // extern "C"

namespace flagos::testing {

Counts counts() { return tls_counts; }

}  // namespace flagos::testing
