// Scene: an operator's arguments and the dispatcher's state, as a situation has them.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <memory>
#include <stdexcept>

#include "situations/argument_tensors.h"
#include "situations/situation.h"
#include "traces/argument_source.h"

namespace flagos::diag {

// The situation can't arise for this call; the text says why.
class NotApplicable : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Builds the arguments of `call` on `device`, then puts the calling thread's dispatcher state into `situation` until
// destroyed. One at a time per thread. kPython takes the mode from the Python program around it (see python_mode.py);
// the arguments are made below it.
class Scene {
 public:
  // Throws NotApplicable; or what materialize() and the situation's own operators throw, with the state put back.
  Scene(Situation situation, const CallRecord& call, const c10::OperatorHandle& op, c10::Device device, uint64_t seed);
  ~Scene();
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;
  Scene(Scene&&) = delete;
  Scene& operator=(Scene&&) = delete;

  // The arguments; a call consumes them.
  Stack& arguments() { return arguments_; }

 private:
  struct State;

  std::unique_ptr<State> state_;  // outlives the arguments: batched tensors belong to a functorch level
  Stack arguments_;
  // c10's boxed wrapper of an operator with several out= arguments copies its results from references into the stack
  // that it has already cleared; without another owner the tensors would be gone by then.
  Stack owners_;
};

}  // namespace flagos::diag
