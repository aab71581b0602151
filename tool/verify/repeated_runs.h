// Whether arms that differ do so each time: an operator that differs from itself now and then is no finding.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "verify/comparison.h"

namespace flagos::diag {

// Note [Operators that differ from themselves]
// A kernel that adds up by atomics may return the same twice by luck, so native runs that agree prove little once
// another arm differs. Then each arm runs more often, and an arm's deviations are its runs unlike its own usual
// outcome.
// - native deviates: nondeterministic, whatever the others do.
// - only others deviate: native runs many times more. If it stays steady although the others deviated so often that
//   this is no chance (Fisher's exact test), the fault is theirs and the case a finding; else nondeterministic.
// - none deviates, and they differ: a finding.
// What would be a finding is nondeterministic instead if PyTorch names the operator so, the target is no CPU (where one
// thread adds up in one order) and the difference is a rounding error's: on an H200 native runs of grid_sampler's
// backward deviated once in 209 for one input, and not once in 209 for the next.

// An arm of a case that can be run again.
struct RepeatedArm {
  const char* name;
  CallOutcome first;
  std::function<CallOutcome()> again;
};

struct Repeats {
  bool nondeterministic = false;
  bool steady = true;  // no arm deviated
  std::string facts;   // "of 9 runs of on 1 deviated, ...": of each arm
};

// Runs each arm up to eight times more, native up to 200 where that decides, as long as an arm takes under two seconds.
// The first arm is native.
Repeats repeat_arms(const std::vector<RepeatedArm>& arms, Contents contents);

// The probability that all `deviations` of two arms together fall among the `runs` of one, if they are alike and the
// other has `others` runs.
double chance_of_one_side(size_t deviations, size_t runs, size_t others);

}  // namespace flagos::diag
