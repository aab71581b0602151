// Comparison: what two runs of one call left behind, bit for bit.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cuda/kernel_sequence.h"
#include "verify/difference.h"

namespace flagos::diag {

// What a call left behind.
struct CallOutcome {
  c10::Device device = c10::Device(c10::DeviceType::CPU);  // where the call's tensors were made
  bool results_anywhere = false;                           // results need not be on that device
  std::optional<std::string> error;                        // what it threw, see normalized_error(); else the rest holds
  std::vector<at::Tensor> inputs;                          // its tensor arguments, as the call left them
  std::vector<int64_t> version_steps;                      // by how much each one's version counter went up
  std::vector<at::Tensor> outputs;                         // the tensors among its results, also undefined ones
  std::vector<std::string> values;                         // the other results, and the lengths of lists
  std::optional<KernelSequence> kernels;                   // what it launched, when that was recorded
};

// Whether the elements count. Those of uninitialised memory don't.
enum class Contents { kCompared, kIgnored };

// The first difference that a program could see: error text, values, layout, aliasing, contents, version counters.
// Devices are equal when they have the same target. Elements are equal when their bits are. Large tensors are compared
// where they are; only the first difference is brought to the host. Kernels are not compared here.
std::optional<Difference> compare_outcomes(const CallOutcome& a, const CallOutcome& b, Contents contents);

// The same for one pair of tensors; `subject` names them in the reason.
std::optional<Difference> compare_tensors(const std::string& subject, const at::Tensor& a, const at::Tensor& b,
                                          Contents contents);

}  // namespace flagos::diag
