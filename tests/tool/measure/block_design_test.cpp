// Balance of the blocks: places and neighbours.
#include "measure/block_design.h"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <stdexcept>

namespace flagos::diag {
namespace {

TEST(BlockDesign, EveryOrderOnceInACycle) {
  BlockDesign design(4, 1);
  ASSERT_EQ(design.cycle(), 24U);
  for (int cycle = 0; cycle < 3; ++cycle) {
    std::set<std::vector<size_t>> orders;
    for (size_t block = 0; block < design.cycle(); ++block) {
      orders.insert(design.next());
    }
    EXPECT_EQ(orders.size(), 24U);
  }
}

TEST(BlockDesign, EachArmEquallyOftenAtEachPlaceAndAfterEachOther) {
  BlockDesign design(4, 7);
  std::map<std::pair<size_t, size_t>, int> places;
  std::map<std::pair<size_t, size_t>, int> neighbours;
  for (size_t block = 0; block < design.cycle(); ++block) {
    const auto& order = design.next();
    for (size_t place = 0; place < order.size(); ++place) {
      ++places[{place, order[place]}];
      if (place > 0) {
        ++neighbours[{order[place - 1], order[place]}];
      }
    }
  }
  EXPECT_EQ(places.size(), 16U);
  for (const auto& [place, count] : places) {
    EXPECT_EQ(count, 6) << place.first << " " << place.second;
  }
  EXPECT_EQ(neighbours.size(), 12U);
  for (const auto& [pair, count] : neighbours) {
    EXPECT_EQ(count, 6) << pair.first << " " << pair.second;
  }
}

TEST(BlockDesign, TheSeedDecidesTheOrder) {
  const auto first_blocks = [](uint64_t seed) {
    BlockDesign design(4, seed);
    std::vector<std::vector<size_t>> blocks;
    for (int block = 0; block < 24; ++block) {
      blocks.push_back(design.next());
    }
    return blocks;
  };
  EXPECT_EQ(first_blocks(5), first_blocks(5));
  EXPECT_NE(first_blocks(5), first_blocks(6));
}

TEST(BlockDesign, RefusesNoArmsAndTooMany) {
  EXPECT_THROW(BlockDesign(0, 1), std::invalid_argument);
  EXPECT_THROW(BlockDesign(7, 1), std::invalid_argument);
}

}  // namespace
}  // namespace flagos::diag
