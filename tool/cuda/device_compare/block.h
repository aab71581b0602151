// Linear buffers cut into words that are as wide as their alignment allows. Host code.
#pragma once

#include <cstdint>

namespace flagos::device_compare {

constexpr int64_t kWidestWord = 16;

// The widest word that both addresses can be read in once `before` bytes are passed: their distance decides.
struct WordCut {
  int64_t width;  // 1, 2, 4, 8 or 16 bytes
  int64_t before;
  int64_t words;
  int64_t after;
};

inline WordCut cut_into_words(uintptr_t a, uintptr_t b, int64_t bytes) {
  const auto differing = static_cast<int64_t>((a ^ b) | static_cast<uintptr_t>(kWidestWord));
  const int64_t width = differing & -differing;  // its lowest bit
  int64_t before = (width - static_cast<int64_t>(a % static_cast<uintptr_t>(width))) % width;
  before = before < bytes ? before : bytes;
  const int64_t words = (bytes - before) / width;
  return {width, before, words, bytes - before - words * width};
}

}  // namespace flagos::device_compare
