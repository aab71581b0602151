// Elements of each dtype: their bits, and their distance.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

namespace flagos::device_compare {

// Bits to double. A conversion is exact but for 64-bit integers.
template <class Value>
struct AsInteger {
  template <class Bits>
  static __device__ double of(Bits bits) {
    return static_cast<double>(static_cast<Value>(bits));
  }
};
struct AsBool {
  static __device__ double of(uint8_t bits) { return bits != 0 ? 1.0 : 0.0; }
};
struct AsHalf {
  static __device__ double of(uint16_t bits) { return static_cast<double>(__half2float(__ushort_as_half(bits))); }
};
struct AsBfloat16 {
  static __device__ double of(uint16_t bits) {
    return static_cast<double>(__bfloat162float(__ushort_as_bfloat16(bits)));
  }
};
struct AsFloat {
  static __device__ double of(uint32_t bits) { return static_cast<double>(__uint_as_float(bits)); }
};
struct AsDouble {
  static __device__ double of(uint64_t bits) { return __longlong_as_double(static_cast<long long>(bits)); }
};
template <__nv_fp8_interpretation_t kFormat>
struct AsFloat8 {
  static __device__ double of(uint8_t bits) {
    return static_cast<double>(__half2float(__half(__nv_cvt_fp8_to_halfraw(bits, kFormat))));
  }
};

// An element of one component, or of two: a complex number, which is aligned to its component only.
template <class BitsType, int kCount, class Convert>
struct Element {
  using Bits = BitsType;
  static constexpr int kComponents = kCount;
  Bits component[kCount];

  __device__ bool same(const Element& other) const {
    bool all = true;
    for (int i = 0; i < kCount; ++i) {
      all = all && component[i] == other.component[i];
    }
    return all;
  }
  __device__ double distance(const Element& other) const {
    double parts[kCount];
    for (int i = 0; i < kCount; ++i) {
      parts[i] = Convert::of(component[i]) - Convert::of(other.component[i]);
    }
    return kCount == 1 ? fabs(parts[0]) : complex_abs(parts[0], parts[kCount - 1]);
  }

 private:
  // hypot() of infinity and NaN is infinity, as |z| is.
  static __device__ double complex_abs(double real, double imaginary) { return hypot(real, imaginary); }
};

using Uint8 = Element<uint8_t, 1, AsInteger<uint8_t>>;
using Int8 = Element<uint8_t, 1, AsInteger<int8_t>>;
using Int16 = Element<uint16_t, 1, AsInteger<int16_t>>;
using Int32 = Element<uint32_t, 1, AsInteger<int32_t>>;
using Int64 = Element<uint64_t, 1, AsInteger<int64_t>>;
using Uint16 = Element<uint16_t, 1, AsInteger<uint16_t>>;
using Uint32 = Element<uint32_t, 1, AsInteger<uint32_t>>;
using Uint64 = Element<uint64_t, 1, AsInteger<uint64_t>>;
using Bool = Element<uint8_t, 1, AsBool>;
using Half = Element<uint16_t, 1, AsHalf>;
using Bfloat16 = Element<uint16_t, 1, AsBfloat16>;
using Float = Element<uint32_t, 1, AsFloat>;
using Double = Element<uint64_t, 1, AsDouble>;
using ComplexHalf = Element<uint16_t, 2, AsHalf>;
using ComplexFloat = Element<uint32_t, 2, AsFloat>;
using ComplexDouble = Element<uint64_t, 2, AsDouble>;
using Float8E4m3fn = Element<uint8_t, 1, AsFloat8<__NV_E4M3>>;
using Float8E5m2 = Element<uint8_t, 1, AsFloat8<__NV_E5M2>>;

// Elements whose values don't count.
template <class Bits, int kCount>
using Raw = Element<Bits, kCount, AsInteger<Bits>>;

}  // namespace flagos::device_compare
