#include "cuda/kernel_recorder.h"

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <fmt/format.h>

#include <cstdlib>
#include <mutex>
#include <utility>

#include "cuda/launch_name.h"

namespace flagos::diag {

#if FLAGOS_DIAG_HAS_CUPTI

namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr size_t kBufferAlignment = 8;  // what CUPTI asks for
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                         CUPTI_ACTIVITY_KIND_MEMCPY2, CUPTI_ACTIVITY_KIND_MEMSET};

// What CUPTI's threads write to; see Note [One CUPTI client].
struct Recorded {
  std::mutex mutex;
  bool taken = false;
  const CuptiLibrary* cupti = nullptr;
  std::vector<LaunchRecord> records;
  size_t dropped = 0;
};

Recorded& recorded() {
  static auto* const kept = new Recorded;  // CUPTI may call back while the process ends
  return *kept;
}

void CUPTIAPI buffer_requested(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *size = *buffer != nullptr ? kBufferBytes : 0;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI buffer_completed(CUcontext context, uint32_t stream, uint8_t* buffer, size_t /*size*/, size_t valid) {
  Recorded& into = recorded();
  {
    const std::lock_guard<std::mutex> lock(into.mutex);
    CUpti_Activity* activity = nullptr;
    while (into.cupti != nullptr && into.cupti->next_record(buffer, valid, &activity) == CUPTI_SUCCESS) {
      if (auto record = launch_record(*activity)) {
        into.records.push_back(std::move(*record));
      }
    }
    size_t dropped = 0;
    if (into.cupti != nullptr && into.cupti->count_dropped(context, stream, &dropped) == CUPTI_SUCCESS) {
      into.dropped += dropped;
    }
  }
  std::free(buffer);
}

void CUPTIAPI no_callback(void* /*user*/, CUpti_CallbackDomain /*domain*/, CUpti_CallbackId /*id*/,
                          const void* /*data*/) {}

}  // namespace

struct KernelRecorder::Session {
  Device device;
  CuptiLibrary cupti;
  CUpti_SubscriberHandle subscriber = nullptr;

  Session(Device of, const std::vector<std::string>& candidates)
      : device(std::move(of)), cupti(load_cupti(candidates)) {
    Recorded& into = recorded();
    const std::lock_guard<std::mutex> lock(into.mutex);
    if (std::exchange(into.taken, true)) {
      throw std::logic_error("there is a KernelRecorder already");
    }
    into.cupti = &cupti;
  }
  ~Session() {
    for (const CUpti_ActivityKind kind : kKinds) {
      cupti.disable(kind);
    }
    cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (subscriber != nullptr) {
      cupti.unsubscribe(subscriber);
    }
    Recorded& into = recorded();
    const std::lock_guard<std::mutex> lock(into.mutex);
    into.cupti = nullptr;
    into.taken = false;
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  Session(Session&&) = delete;
  Session& operator=(Session&&) = delete;

  void enable() {
    check_cupti(cupti, cupti.subscribe(&subscriber, &no_callback, nullptr), "cuptiSubscribe");
    check_cupti(cupti, cupti.register_callbacks(&buffer_requested, &buffer_completed),
                "cuptiActivityRegisterCallbacks");
    for (const CUpti_ActivityKind kind : kKinds) {
      check_cupti(cupti, cupti.enable(kind), "cuptiActivityEnable");
    }
  }

  std::vector<LaunchRecord> take() {
    device.synchronize();
    // Whole buffers first; then those that still wait for a record, of which there are none after synchronizing.
    check_cupti(cupti, cupti.flush_all(0), "cuptiActivityFlushAll");
    check_cupti(cupti, cupti.flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
    Recorded& from = recorded();
    const std::lock_guard<std::mutex> lock(from.mutex);
    if (const size_t dropped = std::exchange(from.dropped, 0); dropped != 0) {
      throw CuptiError(fmt::format("CUPTI lost {} records for want of memory.", dropped));
    }
    return std::exchange(from.records, {});
  }
};

KernelRecorder::KernelRecorder(Device device, const std::vector<std::string>& candidates)
    : session_(std::make_unique<Session>(std::move(device), candidates)) {
  session_->enable();
  start();
  session_->device.probe();
  if (stop().empty()) {
    throw CuptiError(
        fmt::format("CUPTI ({}) recorded nothing of a probe kernel: another client holds the device's records, such as "
                    "a profiler or a monitor in another process. Stop it and try again.",
                    session_->cupti.path));
  }
}

KernelRecorder::~KernelRecorder() = default;

void KernelRecorder::start() { session_->take(); }

KernelSequence KernelRecorder::stop() { return in_launch_order(session_->take()); }

#else

struct KernelRecorder::Session {};

KernelRecorder::KernelRecorder(Device /*device*/, const std::vector<std::string>& /*candidates*/) {
  throw CuptiError(
      "this flagos-diag was built without CUPTI's headers. Install the CUDA Toolkit or a CUDA build of torch, and "
      "configure again (meson setup --reconfigure).");
}
KernelRecorder::~KernelRecorder() = default;
void KernelRecorder::start() {}
KernelSequence KernelRecorder::stop() { return {}; }

#endif

std::unique_ptr<KernelRecorder> make_target_recorder() {
  const c10::Device device(c10::DeviceType::CUDA, 0);
  const auto probe = [device] { at::ones({1}, at::TensorOptions().device(device)); };
  const auto synchronize = [device] { c10::impl::VirtualGuardImpl(device.type()).synchronizeDevice(device.index()); };
  return std::make_unique<KernelRecorder>(KernelRecorder::Device{probe, synchronize});
}

}  // namespace flagos::diag
