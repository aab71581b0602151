// What one thread asks of the C library: memory, and locks. The program's own definitions take the C library's place,
// so every library in the process is counted.
#pragma once

#include <cstdint>

namespace flagos::testing {

struct Counts {
  int64_t allocations = 0;  // malloc, calloc, realloc, aligned_alloc, posix_memalign, memalign
  int64_t locks = 0;        // pthread mutexes, and read-write locks taken to read or to write
};

// Of the calling thread since it began.
Counts counts();

}  // namespace flagos::testing
