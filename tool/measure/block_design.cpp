#include "measure/block_design.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>

namespace flagos::diag {
namespace {

constexpr size_t kMostArms = 6;

}  // namespace

BlockDesign::BlockDesign(size_t arms, uint64_t seed) : random_(seed) {
  if (arms == 0 || arms > kMostArms) {
    throw std::invalid_argument("a block has between 1 and 6 arms");
  }
  std::vector<size_t> order(arms);
  std::iota(order.begin(), order.end(), 0);
  do {
    orders_.push_back(order);
  } while (std::next_permutation(order.begin(), order.end()));
}

const std::vector<size_t>& BlockDesign::next() {
  if (at_ % orders_.size() == 0) {
    at_ = 0;
    std::shuffle(orders_.begin(), orders_.end(), random_);
  }
  return orders_[at_++];
}

}  // namespace flagos::diag
