// Shrinker: the smallest case that still fails the same way, within bounds.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

#include "report/report.h"
#include "verify/shrink_candidates.h"

namespace flagos::diag {

// What is the same of two failures of different size: which pairs of arms differ, and in what; figures don't count.
// `found` is what Verifier::verify() returned. Empty when no arm differs.
std::string failure_kind(const Row& found);

struct ShrinkBounds {
  size_t tries = 100;
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
};

struct Shrunk {
  CaseInput input;
  size_t steps = 0;  // accepted ones; 0: it stayed as it was
  size_t tries = 0;
};

// Takes the first candidate that `fails` accepts, then goes on from there, until none is left or a bound is met. No
// case is tried twice. Throws what `fails` throws.
Shrunk shrink(CaseInput input, const c10::FunctionSchema& schema, bool fixed_layout,
              const std::function<bool(const CaseInput&)>& fails, const ShrinkBounds& bounds);

}  // namespace flagos::diag
