// BlockDesign: the order of the arms in each block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace flagos::diag {

// Every block runs each arm once. The blocks go through all orders of the arms, shuffled, again and again, so that
// after cycle() blocks each arm has stood equally often at each place and after each other arm: what drifts, and what
// one arm leaves behind for the next, falls on all of them alike.
class BlockDesign {
 public:
  // At most six arms (720 orders); throws std::invalid_argument for more, or none.
  BlockDesign(size_t arms, uint64_t seed);

  // The order of the next block: the numbers of the arms.
  const std::vector<size_t>& next();
  size_t cycle() const { return orders_.size(); }

 private:
  std::vector<std::vector<size_t>> orders_;
  size_t at_ = 0;
  std::mt19937_64 random_;
};

}  // namespace flagos::diag
