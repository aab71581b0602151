// CallSequence: recorded calls, ready to be made again and again on one device.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <c10/core/Device.h>

#include <cstddef>
#include <string>
#include <vector>

#include "situations/argument_tensors.h"

namespace flagos::diag {

// A recorded call with its arguments on the host, before it goes to an arm.
struct HostCall {
  std::string op;
  c10::OperatorHandle handle;
  Stack arguments;
  // The call changes the layout of its arguments (resize_, unsqueeze_, set_) or can't be made twice with the same ones:
  // each time it needs new ones.
  bool fresh_arguments = false;
};

// Makes `call` on `device`, twice, and sets fresh_arguments. Throws what the operator throws, the first time.
void try_out(HostCall& call, c10::Device device);

class CallSequence {
 public:
  // `calls` are the distinct calls, `order` their numbers as they follow each other. `calls` must outlive this.
  CallSequence(const std::vector<HostCall>& calls, std::vector<size_t> order, c10::Device device);

  // To be called before `times` calls of run(), and not timed: makes the fresh arguments. Those of earlier times go.
  void prepare(size_t times);
  // Whether prepare() does something that takes time and memory with each run.
  bool needs_fresh_arguments() const { return needs_fresh_; }
  // Of the tensors that it makes for one run.
  size_t bytes_of_fresh_arguments() const;

  // Makes each call once, in order; results are dropped as they come.
  void run();
  // The same without the calls: the cost of handing arguments over.
  void run_empty();

 private:
  struct DeviceCall {
    Stack arguments;
    std::vector<Stack> fresh;
    size_t next_fresh = 0;
  };

  const Stack& arguments_for(size_t call);

  const std::vector<HostCall>& calls_;
  std::vector<size_t> order_;
  c10::Device device_;
  std::vector<DeviceCall> on_device_;
  Stack stack_;
  bool needs_fresh_ = false;
};

}  // namespace flagos::diag
