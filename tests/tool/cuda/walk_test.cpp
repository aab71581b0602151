// The host's part of the comparison on the device: which elements are walked, and how memory is cut into words.
#include "cuda/device_compare/walk.h"

#include <gtest/gtest.h>

#include <set>
#include <utility>
#include <vector>

#include "cuda/device_compare/block.h"

namespace flagos::device_compare {
namespace {

using Sizes = std::vector<int64_t>;
using Places = std::vector<std::pair<int64_t, int64_t>>;

flagos_compare_request request_of(const Sizes& sizes, const Sizes& a, const Sizes& b) {
  flagos_compare_request request{};
  request.dim = static_cast<int>(sizes.size());
  request.sizes = sizes.data();
  request.strides_a = a.data();
  request.strides_b = b.data();
  return request;
}

Walk walk_of(const Sizes& sizes, const Sizes& a, const Sizes& b) {
  Walk walk;
  EXPECT_TRUE(make_walk(request_of(sizes, a, b), walk));
  return walk;
}

// By nested loops, without joining anything.
void place_all(const Sizes& sizes, const Sizes& a, const Sizes& b, size_t dim, int64_t at_a, int64_t at_b,
               Places& into) {
  if (dim == sizes.size()) {
    into.emplace_back(at_a, at_b);
    return;
  }
  for (int64_t i = 0; i < sizes[dim]; ++i) {
    place_all(sizes, a, b, dim + 1, at_a + i * a[dim], at_b + i * b[dim], into);
  }
}

template <class Index>
Places places_of(const Walk& walk) {
  Places places;
  for (int64_t i = 0; i < walk.numel(); ++i) {
    const Offsets at = offset_of(walk, static_cast<Index>(i));
    places.emplace_back(at.a, at.b);
  }
  return places;
}

struct Layout {
  Sizes sizes;
  Sizes a;
  Sizes b;
};

const std::vector<Layout>& layouts() {
  static const std::vector<Layout> kAll = {
      {{}, {}, {}},
      {{5}, {1}, {1}},
      {{1, 1, 1}, {7, 8, 9}, {1, 2, 3}},
      {{2, 3, 4}, {12, 4, 1}, {12, 4, 1}},
      {{4, 3, 2}, {1, 4, 12}, {1, 4, 12}},             // transposed
      {{2, 3, 4}, {12, 4, 1}, {1, 2, 6}},              // one of them
      {{3, 4}, {0, 1}, {0, 1}},                        // expanded
      {{3, 4}, {0, 1}, {4, 1}},                        // one of them
      {{2, 3, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3}},  // channels last
      {{3, 4}, {10, 2}, {10, 2}},                      // every other element
      {{4, 4}, {3, 1}, {3, 1}},                        // overlapping
      {{3}, {-1}, {1}},
      {{2, 1, 6, 1}, {6, 99, 1, 0}, {6, 5, 1, 7}},
  };
  return kAll;
}

TEST(Walk, IsThatOfNestedLoops) {
  for (const auto& [sizes, a, b] : layouts()) {
    Places expected;
    place_all(sizes, a, b, 0, 0, 0, expected);
    EXPECT_EQ(places_of<uint32_t>(walk_of(sizes, a, b)), expected) << testing::PrintToString(sizes);
    EXPECT_EQ(places_of<uint64_t>(walk_of(sizes, a, b)), expected) << testing::PrintToString(sizes);
  }
}

TEST(Walk, InMemoryOrderMeetsTheSamePairs) {
  for (const auto& [sizes, a, b] : layouts()) {
    Places expected;
    place_all(sizes, a, b, 0, 0, 0, expected);
    const Places found = places_of<uint64_t>(in_memory_order(walk_of(sizes, a, b)));
    EXPECT_EQ(std::set(found.begin(), found.end()), std::set(expected.begin(), expected.end()))
        << testing::PrintToString(a);
  }
}

TEST(Walk, DenseLayoutsAreLinearInMemory) {
  EXPECT_TRUE(walk_of({2, 3, 4}, {12, 4, 1}, {12, 4, 1}).is_linear());
  EXPECT_TRUE(walk_of({}, {}, {}).is_linear());
  EXPECT_TRUE(in_memory_order(walk_of({4, 3, 2}, {1, 4, 12}, {1, 4, 12})).is_linear());
  EXPECT_TRUE(in_memory_order(walk_of({2, 3, 4, 5}, {60, 1, 15, 3}, {60, 1, 15, 3})).is_linear());
  const Walk expanded = in_memory_order(walk_of({1000, 4}, {0, 1}, {0, 1}));
  EXPECT_TRUE(expanded.is_linear());
  EXPECT_EQ(expanded.numel(), 4);
  EXPECT_FALSE(in_memory_order(walk_of({4, 3}, {3, 1}, {1, 4})).is_linear());
  EXPECT_FALSE(in_memory_order(walk_of({3, 4}, {10, 2}, {10, 2})).is_linear());
  EXPECT_FALSE(in_memory_order(walk_of({3, 4}, {0, 1}, {4, 1})).is_linear());
}

TEST(Walk, MoreThanTwoToThe31Elements) {
  const int64_t side = int64_t{1} << 17;
  const Walk walk = walk_of({side, side}, {side + 3, 1}, {2 * side, 1});
  EXPECT_EQ(walk.numel(), int64_t{1} << 34);
  const auto number = static_cast<uint64_t>(walk.numel() - 1);
  EXPECT_EQ(offset_of(walk, number).a, (side - 1) * (side + 3) + side - 1);
  EXPECT_EQ(offset_of(walk, number).b, (side - 1) * 2 * side + side - 1);
}

TEST(Walk, TooManyDimensions) {
  const size_t most = FLAGOS_COMPARE_MAX_DIM;
  for (const size_t dims : {most, most + 1}) {
    const Sizes sizes(dims, 2);
    const Sizes strides(dims, 1);  // overlapping: nothing can be joined
    Walk walk;
    EXPECT_EQ(make_walk(request_of(sizes, strides, strides), walk), dims == most);
  }
  Sizes dense;
  for (int i = 24; i > 0; --i) {
    dense.push_back(int64_t{1} << (i - 1));
  }
  EXPECT_EQ(walk_of(Sizes(24, 2), dense, dense).dims, 1);
}

TEST(WordCut, WordsAreAlignedInBothAndCoverEverything) {
  for (uintptr_t a = 64; a < 96; ++a) {
    for (uintptr_t b = 64; b < 96; ++b) {
      for (const int64_t bytes : {1, 15, 16, 17, 100}) {
        const WordCut cut = cut_into_words(a, b, bytes);
        EXPECT_EQ(cut.before + cut.words * cut.width + cut.after, bytes);
        EXPECT_LT(cut.before, cut.width);
        EXPECT_LT(cut.after, cut.width);
        const auto width = static_cast<uintptr_t>(cut.width);
        if (cut.words > 0) {
          EXPECT_EQ((a + static_cast<uintptr_t>(cut.before)) % width, 0U);
          EXPECT_EQ((b + static_cast<uintptr_t>(cut.before)) % width, 0U);
        }
        EXPECT_TRUE(cut.width == kWidestWord || (a ^ b) % (2 * width) != 0) << "a wider word would do";
      }
    }
  }
}

}  // namespace
}  // namespace flagos::device_compare
