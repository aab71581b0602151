// The calls that a soak makes, over and over.
#pragma once

#include <functional>
#include <vector>

namespace flagos::testing {

// One kind of call. `make` returns what it took before: no tensor of its own is left, and switches and routes are as
// they were.
struct SoakCall {
  const char* name;
  std::function<void()> make;
  unsigned one_in = 1;  // of the times when its turn comes: more for what takes long
};

// All kinds, on tensors that live as long as the process.
const std::vector<SoakCall>& soak_calls();

}  // namespace flagos::testing
