// Cases of verify that run in a worker process, where a crash is a result too.
#pragma once

#include <chrono>
#include <string>

#include "isolation/worker_pool.h"
#include "verify/shrink_candidates.h"

namespace flagos::diag {

inline constexpr std::chrono::seconds kVerifyPatience(30);  // for one arm
inline constexpr std::chrono::seconds kShrinkPatience(5);   // the same of a smaller input, with the worker's start

// The case in a worker's answer: as Verifier::verify() returns it, or broken_arm_row() of a worker that died.
Row case_of_answer(Row answer);

// The settings of a job of kind "verify" that runs `input` in place of a recorded call, and back.
Row case_settings(const CaseInput& input);
CaseInput case_of_settings(const Row& settings, const std::string& op, Variant variant);

// One worker for one case after the other.
class IsolatedCase {
 public:
  explicit IsolatedCase(WorkerCommand command);

  // Runs `input`, a call of `op`, and returns what case_of_answer() makes of it. Null when interrupted. Throws
  // std::runtime_error when no worker can be started.
  Row run(const std::string& op, const CaseInput& input);

 private:
  WorkerPool pool_;
};

}  // namespace flagos::diag
