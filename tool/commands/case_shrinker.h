// Failing cases of verify made smaller, in a worker, and the command lines that replay them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "verify/isolated_case.h"
#include "verify/shrinker.h"

namespace flagos::diag {

class CaseShrinker {
 public:
  // `bounds.tries` for each case; `time` for all of them, from the first one on.
  CaseShrinker(WorkerCommand command, ShrinkBounds bounds, std::chrono::duration<double> time);

  // A smaller input than `input` of `op` that fails as `found` tells; nothing when none was found. Cases of one
  // operator and variant that fail alike get the same one, to which the first of them came.
  std::optional<CaseInput> smaller(const std::string& op, const CaseInput& input, const Row& found);

 private:
  IsolatedCase isolated_;
  ShrinkBounds bounds_;
  std::chrono::duration<double> time_;
  std::map<std::string, std::optional<CaseInput>> found_;  // by operator, variant and kind of failure
};

// The line that runs `input` of `op` again, for a POSIX shell.
std::string replay_line(const std::string& op, const CaseInput& input, uint64_t seed);

// "float32[1], float32[1], 2": the arguments in a few words, "constant" when their data are.
std::string input_text(const std::string& op, const CaseInput& input);

}  // namespace flagos::diag
