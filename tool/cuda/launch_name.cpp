#include "cuda/launch_name.h"

#include <fmt/format.h>

#if FLAGOS_DIAG_HAS_CUPTI

namespace flagos::diag {
namespace {

// A later CUPTI adds fields at the end of these structs, under another number.
using KernelRecord = CUpti_ActivityKernel9;
using MemcpyRecord = CUpti_ActivityMemcpy5;
using PeerMemcpyRecord = CUpti_ActivityMemcpyPtoP4;
using MemsetRecord = CUpti_ActivityMemset4;

const char* kind_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "HtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "DtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOA:
      return "HtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOH:
      return "AtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOA:
      return "AtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_ATOD:
      return "AtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOA:
      return "DtoA";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "DtoD";
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOH:
      return "HtoH";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "PtoP";
    default:
      return "of unknown kind";
  }
}

// Pageable memory makes a copy wait where pinned memory does not.
const char* memory_name(uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE:
      return "pageable";
    case CUPTI_ACTIVITY_MEMORY_KIND_PINNED:
      return "pinned";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE:
      return "device";
    case CUPTI_ACTIVITY_MEMORY_KIND_ARRAY:
      return "array";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED:
      return "managed";
    case CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC:
      return "device static";
    case CUPTI_ACTIVITY_MEMORY_KIND_MANAGED_STATIC:
      return "managed static";
    default:
      return "unknown";
  }
}

template <class Record>
const Record& as(const CUpti_Activity& activity) {
  return reinterpret_cast<const Record&>(activity);
}

}  // namespace

std::optional<LaunchRecord> launch_record(const CUpti_Activity& activity) {
  switch (activity.kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = as<KernelRecord>(activity);
      return LaunchRecord{kernel.correlationId, kernel.start,
                          kernel.name != nullptr ? kernel.name : "a kernel without a name"};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = as<MemcpyRecord>(activity);
      return LaunchRecord{copy.correlationId, copy.start,
                          fmt::format("memcpy {} ({} to {})", kind_name(copy.copyKind), memory_name(copy.srcKind),
                                      memory_name(copy.dstKind))};
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2: {
      const auto& copy = as<PeerMemcpyRecord>(activity);
      return LaunchRecord{copy.correlationId, copy.start, "memcpy PtoP (device to device)"};
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& fill = as<MemsetRecord>(activity);
      return LaunchRecord{fill.correlationId, fill.start,
                          fmt::format("memset ({})", memory_name(static_cast<uint8_t>(fill.memoryKind)))};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace flagos::diag

#endif
