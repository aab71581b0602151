// The kernels: is anything different, and if so, what.
#pragma once

#include <cstdint>

#include "cuda/device_compare/walk.h"

namespace flagos::device_compare {

constexpr int kThreads = 256;
constexpr int kWarp = 32;
constexpr unsigned kWholeWarp = 0xffffffffU;

// In the workspace.
struct Findings {
  unsigned long long first;         // ~0: none
  unsigned long long different;     // elements
  unsigned long long max_abs_bits;  // of a double that is not negative: ordered as the number is
  unsigned comparable;              // there was a distance that is a number
  unsigned unequal;                 // the first pass found something
};
static_assert(sizeof(Findings) <= FLAGOS_COMPARE_WORKSPACE_BYTES, "the workspace is too small");

// A block of memory as `count` words from `a` and `b` on, and up to sizeof(Word) - 1 bytes before and after them.
struct Block {
  const void* a;
  const void* b;
  int64_t count;
  int before;
  int after;
};

template <class Word>
__device__ inline unsigned differs(Word a, Word b) {
  return a != b ? 1U : 0U;
}
__device__ inline unsigned differs(uint4 a, uint4 b) { return (a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w); }

// Each thread has several loads under way at once, since one waits some 600 ns for memory.
template <class Word, int kUnrolled = 4>
__global__ void __launch_bounds__(kThreads) any_in_block(Block block, Findings* findings) {
  const auto* a = static_cast<const Word*>(block.a);
  const auto* b = static_cast<const Word*>(block.b);
  const int64_t tile = static_cast<int64_t>(kThreads) * kUnrolled;
  unsigned unequal = 0;
  for (int64_t start = blockIdx.x * tile + threadIdx.x; start < block.count; start += gridDim.x * tile) {
    if (start - threadIdx.x + tile <= block.count) {
      Word of_a[kUnrolled];
      Word of_b[kUnrolled];
#pragma unroll
      for (int i = 0; i < kUnrolled; ++i) {
        of_a[i] = __ldcs(a + start + i * kThreads);
        of_b[i] = __ldcs(b + start + i * kThreads);
      }
#pragma unroll
      for (int i = 0; i < kUnrolled; ++i) {
        unequal |= differs(of_a[i], of_b[i]);
      }
    } else {
      for (int64_t i = start; i < block.count; i += kThreads) {
        unequal |= differs(a[i], b[i]);
      }
    }
  }
  if (blockIdx.x == 0 && threadIdx.x < static_cast<unsigned>(block.before + block.after)) {
    const int edge = static_cast<int>(threadIdx.x) - block.before;  // negative: before the words
    const int64_t at = edge < 0 ? edge : block.count * static_cast<int64_t>(sizeof(Word)) + edge;
    unequal |= static_cast<const uint8_t*>(block.a)[at] != static_cast<const uint8_t*>(block.b)[at] ? 1U : 0U;
  }
  if (unequal != 0) {
    findings->unequal = 1;  // whoever writes, writes the same
  }
}

template <class Element, class Index>
__global__ void __launch_bounds__(kThreads)
    any_in_walk(const Element* a, const Element* b, Walk walk, Index count, Findings* findings) {
  bool unequal = false;
  const Index step = static_cast<Index>(gridDim.x) * kThreads;
  for (Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const Offsets at = offset_of(walk, i);
    unequal |= !a[at.a].same(b[at.b]);
  }
  if (unequal) {
    findings->unequal = 1;
  }
}

// What one thread, and then one warp, has seen.
struct Seen {
  unsigned long long first = ~0ULL;
  unsigned long long different = 0;
  double max_abs = -1;  // negative: no distance that is a number

  __device__ void add(unsigned long long other_first, unsigned long long other_different, double other_max) {
    first = other_first < first ? other_first : first;
    different += other_different;
    max_abs = other_max > max_abs ? other_max : max_abs;
  }
  __device__ void gather_warp() {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      const auto other_first = __shfl_down_sync(kWholeWarp, first, offset);
      const auto other_different = __shfl_down_sync(kWholeWarp, different, offset);
      const auto other_max = __shfl_down_sync(kWholeWarp, max_abs, offset);
      add(other_first, other_different, other_max);
    }
  }
};

template <class Element, class Index>
__global__ void __launch_bounds__(kThreads)
    describe(const Element* a, const Element* b, Walk walk, Index count, Findings* findings) {
  Seen seen;
  const Index step = static_cast<Index>(gridDim.x) * kThreads;
  for (Index i = static_cast<Index>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const Offsets at = offset_of(walk, i);
    const Element of_a = a[at.a];
    const Element of_b = b[at.b];
    const bool same = of_a.same(of_b);
    const double distance = of_a.distance(of_b);
    seen.add(same ? ~0ULL : i, same ? 0 : 1, isnan(distance) ? -1 : distance);
  }
  seen.gather_warp();
  if (threadIdx.x % kWarp == 0) {
    if (seen.different != 0) {
      atomicMin(&findings->first, seen.first);
      atomicAdd(&findings->different, seen.different);
    }
    if (seen.max_abs >= 0) {
      atomicMax(&findings->max_abs_bits, static_cast<unsigned long long>(__double_as_longlong(seen.max_abs)));
      findings->comparable = 1;
    }
  }
}

}  // namespace flagos::device_compare
