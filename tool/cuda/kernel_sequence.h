// Sequences of what a call launched on a CUDA device.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace flagos::diag {

// Names in the order of the launches: kernels demangled, copies and fills as "memcpy HtoD" and "memset".
using KernelSequence = std::vector<std::string>;

struct LaunchRecord {
  uint32_t correlation = 0;  // goes up by the calls of the CUDA API
  uint64_t start = 0;        // ns on the device; orders what one call launched, such as a graph's nodes
  std::string name;          // as CUPTI has it, mangled
};

// Demangled, in the order in which the host launched; that of the device differs where streams overlap.
KernelSequence in_launch_order(std::vector<LaunchRecord> records);

// Where two sequences part: "kernel 1: copy against gemm", "kernel 2: nothing against gemm"; nothing when they are one.
// Long names are cut.
std::optional<std::string> first_other_kernel(const KernelSequence& a, const KernelSequence& b);

// `name` without C++ mangling; as it is where it has none.
std::string demangled(const std::string& name);

}  // namespace flagos::diag
