// A libcupti for machines without a GPU: it hands out the records that a test gives it, in CUPTI's own structs and
// through its own functions, and can be told to fail as CUPTI does.
#include <cupti.h>

#include <cstring>
#include <vector>

namespace {

using Buffer = std::vector<uint8_t>;

CUpti_BuffersCallbackRequestFunc request = nullptr;
CUpti_BuffersCallbackCompleteFunc complete = nullptr;
std::vector<Buffer> waiting;  // records that were "launched" and not yet flushed
CUptiResult subscription = CUPTI_SUCCESS;
size_t dropped = 0;
int enabled = 0;
bool subscribed = false;

size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      return sizeof(CUpti_ActivityKernel10);
    case CUPTI_ACTIVITY_KIND_MEMCPY:
      return sizeof(CUpti_ActivityMemcpy6);
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return sizeof(CUpti_ActivityMemcpyPtoP4);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return sizeof(CUpti_ActivityMemset4);
    default:
      return sizeof(CUpti_ActivityOverhead3);
  }
}

}  // namespace

#define FAKE extern "C" __attribute__((visibility("default")))

// What a test calls.
FAKE void fake_launch(const CUpti_Activity* record) {
  if (enabled > 0) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(record);
    waiting.emplace_back(bytes, bytes + size_of(record->kind));
  }
}
FAKE void fake_subscription(CUptiResult result) { subscription = result; }
FAKE void fake_drop(size_t records) { dropped += records; }
FAKE bool fake_is_free() { return !subscribed && enabled == 0; }

// What CUPTI has.
FAKE CUptiResult cuptiSubscribe(CUpti_SubscriberHandle* subscriber, CUpti_CallbackFunc, void*) {
  if (subscription == CUPTI_SUCCESS) {
    subscribed = true;
    *subscriber = reinterpret_cast<CUpti_SubscriberHandle>(&subscribed);
  }
  return subscription;
}
FAKE CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  subscribed = false;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc requested,
                                                CUpti_BuffersCallbackCompleteFunc completed) {
  request = requested;
  complete = completed;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityEnable(CUpti_ActivityKind) {
  ++enabled;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityDisable(CUpti_ActivityKind) {
  enabled -= enabled > 0 ? 1 : 0;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityFlushAll(uint32_t) {
  if (waiting.empty() && dropped == 0) {
    return CUPTI_SUCCESS;
  }
  uint8_t* buffer = nullptr;
  size_t size = 0;
  size_t most = 0;
  request(&buffer, &size, &most);
  size_t used = 0;
  for (const Buffer& record : waiting) {
    std::memcpy(buffer + used, record.data(), record.size());
    used += record.size();
  }
  waiting.clear();
  complete(nullptr, 0, buffer, size, used);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid, CUpti_Activity** record) {
  uint8_t* next = *record == nullptr ? buffer : reinterpret_cast<uint8_t*>(*record) + size_of((*record)->kind);
  if (next >= buffer + valid) {
    return CUPTI_ERROR_MAX_LIMIT_REACHED;
  }
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* count) {
  *count = dropped;
  dropped = 0;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetVersion(uint32_t* version) {
  *version = CUPTI_API_VERSION;
  return CUPTI_SUCCESS;
}
FAKE CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "CUPTI_ERROR_OF_THE_TEST";
  return CUPTI_SUCCESS;
}
