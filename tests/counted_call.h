// What the counters say of one call.
#pragma once

#include <cstddef>
#include <functional>

#include "flagos/stats.h"

namespace flagos::testing {

// By how much the counters of `op` went up while `call` ran.
inline OpStats counted_by(const char* op, const std::function<void()>& call) {
  const OpStats before = op_stats(op);
  call();
  OpStats after = op_stats(op);
  after.calls -= before.calls;
  after.hits -= before.hits;
  for (size_t i = 0; i < after.refused.size(); ++i) {
    after.refused.at(i) -= before.refused.at(i);
  }
  return after;
}

}  // namespace flagos::testing
