#include "device/profiler.h"

#include <c10/util/ApproximateClock.h>
#include <torch/csrc/profiler/stubs/base.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "device/target_constants.h"

namespace flagos::device {
namespace {

using torch::profiler::impl::cudaStubs;
using torch::profiler::impl::ProfilerVoidEventStub;

// The CPU target runs an operator before the call returns, so the host's clock is the device's.
class HostStubs final : public torch::profiler::impl::ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    const int64_t now = c10::getTime();
    if (device != nullptr) {
      *device = 0;
    }
    if (cpu_ns != nullptr) {
      *cpu_ns = now;
    }
    *event = std::make_shared<int64_t>(now);
  }
  // Microseconds, as for CUDA.
  float elapsed(const ProfilerVoidEventStub* begin, const ProfilerVoidEventStub* end) const override {
    return static_cast<float>(nanoseconds(*end) - nanoseconds(*begin)) / 1000.0F;
  }
  // Marks are for the tools of a vendor (emit_nvtx); the CPU has none.
  void mark(const char* /*name*/) const override {}
  void rangePush(const char* /*name*/) const override {}
  void rangePop() const override {}
  bool enabled() const override { return true; }
  void onEachDevice(std::function<void(int)> op) const override { op(0); }
  void synchronize() const override {}

 private:
  static int64_t nanoseconds(const ProfilerVoidEventStub& event) { return *static_cast<const int64_t*>(event.get()); }
};

// Looked up at each call: CUDA's own may be registered after this library is loaded.
class CudaStubs final : public torch::profiler::impl::ProfilerStubs {
 public:
  void record(c10::DeviceIndex* device, ProfilerVoidEventStub* event, int64_t* cpu_ns) const override {
    cudaStubs()->record(device, event, cpu_ns);
  }
  float elapsed(const ProfilerVoidEventStub* begin, const ProfilerVoidEventStub* end) const override {
    return cudaStubs()->elapsed(begin, end);
  }
  void mark(const char* name) const override { cudaStubs()->mark(name); }
  void rangePush(const char* name) const override { cudaStubs()->rangePush(name); }
  void rangePop() const override { cudaStubs()->rangePop(); }
  bool enabled() const override { return cudaStubs()->enabled(); }
  void onEachDevice(std::function<void(int)> op) const override { cudaStubs()->onEachDevice(std::move(op)); }
  void synchronize() const override { cudaStubs()->synchronize(); }
};

}  // namespace

void register_profiler() {
  static HostStubs host;
  static CudaStubs cuda;
  if (target().has_index) {
    torch::profiler::impl::registerPrivateUse1Methods(&cuda);
  } else {
    torch::profiler::impl::registerPrivateUse1Methods(&host);
  }
}

}  // namespace flagos::device
