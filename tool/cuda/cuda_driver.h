// What the CUDA driver says, without linking it: it is not there on every machine.
#pragma once

#include <string>
#include <vector>

namespace flagos::diag {

struct CudaDriver {
  bool found = false;    // libcuda.so.1 could be loaded and initialised
  std::string error;     // why not
  std::string version;   // "570.86.15", of the kernel module; empty when it isn't told
  int cuda_version = 0;  // the newest CUDA it can run, 13000 for 13.0
  std::vector<std::string> devices;
};

// Initialises the driver in this process on the first call (some 100 ms) and remembers the answer.
const CudaDriver& cuda_driver();

}  // namespace flagos::diag
