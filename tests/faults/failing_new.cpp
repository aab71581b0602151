#include "faults/failing_new.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace flagos::testing {

constinit thread_local int tls_fail_new_at = 0;
constinit thread_local int tls_fail_large_at = 0;
std::atomic<int64_t> g_live_news{0};

}  // namespace flagos::testing

namespace {

using flagos::testing::g_live_news;
using flagos::testing::tls_fail_large_at;
using flagos::testing::tls_fail_new_at;

bool fails(int& countdown) { return countdown > 0 && --countdown == 0; }

void* allocate(size_t size, size_t alignment) {
  if (fails(tls_fail_new_at)) {
    return nullptr;
  }
  void* const made = std::aligned_alloc(alignment, (std::max<size_t>(size, 1) + alignment - 1) / alignment * alignment);
  if (made != nullptr) {
    g_live_news.fetch_add(1, std::memory_order_relaxed);
  }
  return made;
}

void* allocate_or_throw(size_t size, size_t alignment) {
  if (void* const made = allocate(size, alignment)) {
    return made;
  }
  throw std::bad_alloc();
}

void release(void* memory) noexcept {
  if (memory != nullptr) {
    g_live_news.fetch_sub(1, std::memory_order_relaxed);
    std::free(memory);
  }
}

constexpr size_t kUsual = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace

void* operator new(size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new[](size_t size) { return allocate_or_throw(size, kUsual); }
void* operator new(size_t size, const std::nothrow_t& /*tag*/) noexcept { return allocate(size, kUsual); }
void* operator new[](size_t size, const std::nothrow_t& /*tag*/) noexcept { return allocate(size, kUsual); }
void* operator new(size_t size, std::align_val_t align) { return allocate_or_throw(size, static_cast<size_t>(align)); }
void* operator new[](size_t size, std::align_val_t align) {
  return allocate_or_throw(size, static_cast<size_t>(align));
}
void operator delete(void* memory) noexcept { release(memory); }
void operator delete[](void* memory) noexcept { release(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { release(memory); }
void operator delete[](void* memory, size_t /*size*/) noexcept { release(memory); }
void operator delete(void* memory, const std::nothrow_t& /*tag*/) noexcept { release(memory); }
void operator delete[](void* memory, const std::nothrow_t& /*tag*/) noexcept { release(memory); }
void operator delete(void* memory, std::align_val_t /*align*/) noexcept { release(memory); }
void operator delete[](void* memory, std::align_val_t /*align*/) noexcept { release(memory); }
void operator delete(void* memory, size_t /*size*/, std::align_val_t /*align*/) noexcept { release(memory); }
void operator delete[](void* memory, size_t /*size*/, std::align_val_t /*align*/) noexcept { release(memory); }

#ifdef FLAGOS_TEST_FAILS_CALLOC
extern "C" {
void* __libc_calloc(size_t count, size_t size);
void* calloc(size_t count, size_t size) {
  const bool large = count * size >= 4096;
  return large && fails(tls_fail_large_at) ? nullptr : __libc_calloc(count, size);
}
}
#endif
