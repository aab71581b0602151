// KernelRecorder: which kernels, copies and fills a piece of work launches on CUDA, seen by CUPTI's activity records.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cuda/cupti_library.h"
#include "cuda/kernel_sequence.h"

namespace flagos::diag {

// Note [One CUPTI client]
// CUPTI serves one client in a process, and its callbacks carry no pointer of the client's: so there is one recorder at
// a time, and it takes the subscription that another client, a profiler, would hold. Processes don't share the
// subscription, but the driver may give the device's records to only one of them: verify --kernels has one worker.
// Being enabled is no proof, so a probe kernel must leave a record before anything is claimed.
class KernelRecorder {
 public:
  struct Device {
    std::function<void()> probe;        // launches at least one kernel
    std::function<void()> synchronize;  // waits for all that was launched
  };

  // Throws CuptiError when there is no CUPTI among `candidates`, another client holds it, it was not known to this
  // build, or it recorded nothing of the probe; std::logic_error when there is a recorder already.
  explicit KernelRecorder(Device device, const std::vector<std::string>& candidates = cupti_candidates());
  ~KernelRecorder();
  KernelRecorder(const KernelRecorder&) = delete;
  KernelRecorder& operator=(const KernelRecorder&) = delete;
  KernelRecorder(KernelRecorder&&) = delete;
  KernelRecorder& operator=(KernelRecorder&&) = delete;

  // Waits for the device and forgets what was recorded. Throws what `synchronize` throws, and CuptiError.
  void start();
  // Waits for the device; what was launched since start(), by any thread. Throws as start() does, and CuptiError when
  // records were lost.
  KernelSequence stop();

 private:
  struct Session;
  std::unique_ptr<Session> session_;
};

// A recorder of the target, which is CUDA, and the process's first device. Throws as the constructor does.
std::unique_ptr<KernelRecorder> make_target_recorder();

}  // namespace flagos::diag
