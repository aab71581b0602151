// Walk: how two strided buffers are gone through. Host code, but for offset_of(), and without CUDA in a C++ compiler.
#pragma once

#include <cstdint>

#include "cuda/device_compare/device_compare.h"

#ifdef __CUDACC__
#define FLAGOS_COMPARE_EVERYWHERE __host__ __device__
#else
#define FLAGOS_COMPARE_EVERYWHERE
#endif

namespace flagos::device_compare {

// Strides count elements. A scalar has no dimension. Passed to kernels by value.
struct Walk {
  int dims = 0;
  int64_t size[FLAGOS_COMPARE_MAX_DIM] = {};
  int64_t stride_a[FLAGOS_COMPARE_MAX_DIM] = {};
  int64_t stride_b[FLAGOS_COMPARE_MAX_DIM] = {};

  // False when there is no room for another.
  bool add(int64_t size_of, int64_t of_a, int64_t of_b) {
    if (dims == FLAGOS_COMPARE_MAX_DIM) {
      return false;
    }
    size[dims] = size_of;
    stride_a[dims] = of_a;
    stride_b[dims++] = of_b;
    return true;
  }
  int64_t numel() const {
    int64_t count = 1;
    for (int i = 0; i < dims; ++i) {
      count *= size[i];
    }
    return count;
  }
  // Both are one block without gaps, in the order of the walk.
  bool is_linear() const { return dims == 0 || (dims == 1 && stride_a[0] == 1 && stride_b[0] == 1); }
};

// Adds a dimension inside those there are, joined to the last where the two are one walk in both buffers.
inline bool add_joined(Walk& walk, int64_t size, int64_t stride_a, int64_t stride_b) {
  if (size == 1) {
    return true;
  }
  const int last = walk.dims - 1;
  if (last >= 0 && walk.stride_a[last] == size * stride_a && walk.stride_b[last] == size * stride_b) {
    walk.size[last] *= size;
    walk.stride_a[last] = stride_a;
    walk.stride_b[last] = stride_b;
    return true;
  }
  return walk.add(size, stride_a, stride_b);
}

// The request's elements in row-major order. False when too many dimensions are left.
inline bool make_walk(const flagos_compare_request& request, Walk& walk) {
  walk = Walk();
  for (int i = 0; i < request.dim; ++i) {
    if (!add_joined(walk, request.sizes[i], request.strides_a[i], request.strides_b[i])) {
      return false;
    }
  }
  return true;
}

// The same elements in the order of a's memory, those that are repeated in both only once: for asking whether any
// differ. Transposed and expanded buffers become linear so.
inline Walk in_memory_order(const Walk& walk) {
  Walk sorted;
  for (int i = 0; i < walk.dims; ++i) {
    if (walk.stride_a[i] != 0 || walk.stride_b[i] != 0) {
      int place = sorted.dims++;
      for (; place > 0 && sorted.stride_a[place - 1] < walk.stride_a[i]; --place) {
        sorted.size[place] = sorted.size[place - 1];
        sorted.stride_a[place] = sorted.stride_a[place - 1];
        sorted.stride_b[place] = sorted.stride_b[place - 1];
      }
      sorted.size[place] = walk.size[i];
      sorted.stride_a[place] = walk.stride_a[i];
      sorted.stride_b[place] = walk.stride_b[i];
    }
  }
  Walk joined;
  for (int i = 0; i < sorted.dims; ++i) {
    add_joined(joined, sorted.size[i], sorted.stride_a[i], sorted.stride_b[i]);  // no more dimensions than before
  }
  return joined;
}

struct Offsets {
  int64_t a;
  int64_t b;
};

// Where the element of this number is. Index: uint32_t where it suffices, since it divides several times faster.
template <class Index>
FLAGOS_COMPARE_EVERYWHERE inline Offsets offset_of(const Walk& walk, Index number) {
  Offsets offsets{0, 0};
  for (int i = walk.dims - 1; i > 0; --i) {
    const Index size = static_cast<Index>(walk.size[i]);
    const Index rest = number / size;
    const auto position = static_cast<int64_t>(number - rest * size);
    offsets.a += position * walk.stride_a[i];
    offsets.b += position * walk.stride_b[i];
    number = rest;
  }
  if (walk.dims > 0) {
    offsets.a += static_cast<int64_t>(number) * walk.stride_a[0];
    offsets.b += static_cast<int64_t>(number) * walk.stride_b[0];
  }
  return offsets;
}

}  // namespace flagos::device_compare
