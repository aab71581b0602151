// The program's own `new` and calloc, which fail when they are told to, and count what lives.
#pragma once

#include <atomic>
#include <cstdint>

// A sanitizer has a calloc of its own, which must stay.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define FLAGOS_TEST_FAILS_CALLOC
#endif

namespace flagos::testing {

// Count down on the thread that set them; the allocation that makes one 0 fails.
extern constinit thread_local int tls_fail_new_at;
// The same of a calloc of a page or more, which is what a thread's counters are made of; unused without
// FLAGOS_TEST_FAILS_CALLOC.
extern constinit thread_local int tls_fail_large_at;

// Made by `new` and not yet deleted, on any thread.
extern std::atomic<int64_t> g_live_news;

}  // namespace flagos::testing
