// flagos_compare(): checks the request, and runs one pass that asks whether anything differs, and a second one if so.
#include "cuda/device_compare/device_compare.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>

#include "cuda/device_compare/block.h"
#include "cuda/device_compare/elements.cuh"
#include "cuda/device_compare/kernels.cuh"
#include "cuda/device_compare/walk.h"

namespace flagos::device_compare {
namespace {

constexpr int kBlocksPerProcessor = 8;  // of 256 threads: all that a multiprocessor can hold
constexpr int64_t kShortIndex = std::numeric_limits<int32_t>::max();  // i + step must not wrap round either

thread_local char message[512] = "";

template <class... Arguments>
int fail(int status, const char* format, Arguments... arguments) {
  std::snprintf(message, sizeof(message), format, arguments...);
  return status;
}

int cuda_failed(cudaError_t error, const char* what) {
  cudaGetLastError();  // else the next call, which asks whether its kernel could be launched, would be told of this one
  return fail(FLAGOS_COMPARE_CUDA_ERROR, "%s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
}

// The thread's current device, put back at the end.
class DeviceChoice {
 public:
  explicit DeviceChoice(int device) {
    error_ = cudaGetDevice(&before_);
    if (error_ == cudaSuccess && device != before_) {
      error_ = cudaSetDevice(device);
      changed_ = error_ == cudaSuccess;
    }
  }
  ~DeviceChoice() {
    if (changed_) {
      cudaSetDevice(before_);
    }
  }
  DeviceChoice(const DeviceChoice&) = delete;
  DeviceChoice& operator=(const DeviceChoice&) = delete;
  cudaError_t error() const { return error_; }

 private:
  int before_ = 0;
  bool changed_ = false;
  cudaError_t error_ = cudaSuccess;
};

struct Launch {
  const flagos_compare_request& request;
  Findings* findings;
  cudaStream_t stream;
  int most_blocks;

  int blocks_for(int64_t threads) const {
    return static_cast<int>(std::clamp<int64_t>((threads + kThreads - 1) / kThreads, 1, most_blocks));
  }
};

template <class Word>
void launch_words(const Launch& launch, const Block& block) {
  constexpr int kUnrolled = 4;
  any_in_block<Word, kUnrolled>
      <<<launch.blocks_for(block.count / kUnrolled), kThreads, 0, launch.stream>>>(block, launch.findings);
}

void any_in_memory(const Launch& launch, int64_t bytes) {
  const auto* a = static_cast<const char*>(launch.request.a);
  const auto* b = static_cast<const char*>(launch.request.b);
  const WordCut cut = cut_into_words(reinterpret_cast<uintptr_t>(a), reinterpret_cast<uintptr_t>(b), bytes);
  const Block block{a + cut.before, b + cut.before, cut.words, static_cast<int>(cut.before),
                    static_cast<int>(cut.after)};
  switch (cut.width) {
    case 16:
      return launch_words<uint4>(launch, block);
    case 8:
      return launch_words<uint64_t>(launch, block);
    case 4:
      return launch_words<uint32_t>(launch, block);
    case 2:
      return launch_words<uint16_t>(launch, block);
    default:
      return launch_words<uint8_t>(launch, block);
  }
}

template <class Element>
void launch_any(const Launch& launch, const Walk& walk) {
  const int64_t count = walk.numel();
  const auto* a = static_cast<const Element*>(launch.request.a);
  const auto* b = static_cast<const Element*>(launch.request.b);
  const int blocks = launch.blocks_for(count);
  if (count <= kShortIndex) {
    any_in_walk<Element, uint32_t>
        <<<blocks, kThreads, 0, launch.stream>>>(a, b, walk, static_cast<uint32_t>(count), launch.findings);
  } else {
    any_in_walk<Element, uint64_t>
        <<<blocks, kThreads, 0, launch.stream>>>(a, b, walk, static_cast<uint64_t>(count), launch.findings);
  }
}

template <class Element>
void launch_describe(const Launch& launch, const Walk& walk) {
  const int64_t count = walk.numel();
  const auto* a = static_cast<const Element*>(launch.request.a);
  const auto* b = static_cast<const Element*>(launch.request.b);
  const int blocks = launch.blocks_for(count);
  if (count <= kShortIndex) {
    describe<Element, uint32_t>
        <<<blocks, kThreads, 0, launch.stream>>>(a, b, walk, static_cast<uint32_t>(count), launch.findings);
  } else {
    describe<Element, uint64_t>
        <<<blocks, kThreads, 0, launch.stream>>>(a, b, walk, static_cast<uint64_t>(count), launch.findings);
  }
}

// What is done for a dtype.
struct Dtype {
  int component_bytes;
  int element_bytes;
  void (*any)(const Launch& launch, const Walk& walk);
  void (*describe)(const Launch& launch, const Walk& walk);
};

template <class Element>
constexpr Dtype dtype() {
  return {sizeof(typename Element::Bits), sizeof(Element),
          &launch_any<Raw<typename Element::Bits, Element::kComponents>>, &launch_describe<Element>};
}

// By enum flagos_compare_dtype.
constexpr Dtype kDtypes[] = {dtype<Uint8>(),        dtype<Int8>(),        dtype<Int16>(),        dtype<Int32>(),
                             dtype<Int64>(),        dtype<Uint16>(),      dtype<Uint32>(),       dtype<Uint64>(),
                             dtype<Bool>(),         dtype<Half>(),        dtype<Bfloat16>(),     dtype<Float>(),
                             dtype<Double>(),       dtype<ComplexHalf>(), dtype<ComplexFloat>(), dtype<ComplexDouble>(),
                             dtype<Float8E4m3fn>(), dtype<Float8E5m2>()};
static_assert(sizeof(kDtypes) / sizeof(kDtypes[0]) == FLAGOS_COMPARE_DTYPES, "a dtype has no entry");

int check_shape(const flagos_compare_request& request) {
  if (request.dim < 0 ||
      (request.dim > 0 && (request.sizes == nullptr || request.strides_a == nullptr || request.strides_b == nullptr))) {
    return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "dim is %d: it must be 0 or more, with sizes and strides", request.dim);
  }
  int64_t count = 1;
  for (int i = 0; i < request.dim; ++i) {
    if (request.sizes[i] < 0) {
      return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "size %d is %lld: sizes must be 0 or more", i,
                  static_cast<long long>(request.sizes[i]));
    }
    if (__builtin_mul_overflow(count, std::max<int64_t>(request.sizes[i], 1), &count)) {
      return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "the sizes' product does not fit 64 bits");
    }
  }
  return FLAGOS_COMPARE_OK;
}

bool aligned(const void* pointer, int bytes) { return reinterpret_cast<uintptr_t>(pointer) % bytes == 0; }

int check_memory(const flagos_compare_request& request) {
  const int bytes = kDtypes[request.dtype].component_bytes;
  if (request.a == nullptr || request.b == nullptr || request.workspace == nullptr) {
    return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "a, b and workspace must not be null");
  }
  if (!aligned(request.a, bytes) || !aligned(request.b, bytes)) {
    return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "a and b must be aligned to %d bytes for dtype %d", bytes, request.dtype);
  }
  if (!aligned(request.workspace, alignof(Findings))) {
    return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "workspace must be aligned to 8 bytes");
  }
  return FLAGOS_COMPARE_OK;
}

// Null: success.
const char* run(const Launch& launch, const Walk& walk, Findings& found, cudaError_t& error) {
  found = {~0ULL, 0, 0, 0, 0};
  error = cudaMemcpyAsync(launch.findings, &found, sizeof(found), cudaMemcpyHostToDevice, launch.stream);
  if (error != cudaSuccess) {
    return "writing to the workspace";
  }
  const Dtype& dtype = kDtypes[launch.request.dtype];
  const Walk memory = in_memory_order(walk);
  memory.is_linear() ? any_in_memory(launch, memory.numel() * dtype.element_bytes) : dtype.any(launch, memory);
  const auto read = [&] {
    error = cudaGetLastError();
    error = error != cudaSuccess
                ? error
                : cudaMemcpyAsync(&found, launch.findings, sizeof(found), cudaMemcpyDeviceToHost, launch.stream);
    error = error != cudaSuccess ? error : cudaStreamSynchronize(launch.stream);
    return error == cudaSuccess;
  };
  if (!read()) {
    return "comparing";
  }
  if (found.unequal != 0) {
    dtype.describe(launch, walk);
    if (!read()) {
      return "describing the difference";
    }
  }
  return nullptr;
}

flagos_compare_result result_of(const Findings& found) {
  flagos_compare_result result{};
  result.equal = found.unequal == 0 ? 1 : 0;
  result.first = result.equal != 0 ? -1 : static_cast<int64_t>(found.first);
  result.different = static_cast<int64_t>(found.different);
  result.has_max_abs = found.comparable != 0 ? 1 : 0;
  std::memcpy(&result.max_abs, &found.max_abs_bits, sizeof(result.max_abs));
  return result;
}

int compare(const flagos_compare_request& request, flagos_compare_result& result) {
  if (request.dtype < 0 || request.dtype >= FLAGOS_COMPARE_DTYPES) {
    return fail(FLAGOS_COMPARE_BAD_ARGUMENT, "dtype %d is none of enum flagos_compare_dtype", request.dtype);
  }
  if (const int status = check_shape(request)) {
    return status;
  }
  if (std::any_of(request.sizes, request.sizes + request.dim, [](int64_t size) { return size == 0; })) {
    result = {1, -1, 0, 0, 0};
    return FLAGOS_COMPARE_OK;
  }
  if (const int status = check_memory(request)) {
    return status;
  }
  Walk walk;
  if (!make_walk(request, walk)) {
    return fail(FLAGOS_COMPARE_TOO_MANY_DIMENSIONS, "more than %d dimensions are left after joining",
                FLAGOS_COMPARE_MAX_DIM);
  }
  const DeviceChoice device(request.device);
  if (device.error() != cudaSuccess) {
    return cuda_failed(device.error(), "choosing the device");
  }
  int processors = 0;
  cudaError_t error = cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, request.device);
  if (error != cudaSuccess) {
    return cuda_failed(error, "asking for the device's multiprocessors");
  }
  Findings found{};
  const Launch launch{request, static_cast<Findings*>(request.workspace), static_cast<cudaStream_t>(request.stream),
                      processors * kBlocksPerProcessor};
  if (const char* what = run(launch, walk, found, error)) {
    return cuda_failed(error, what);
  }
  result = result_of(found);
  return FLAGOS_COMPARE_OK;
}

}  // namespace
}  // namespace flagos::device_compare

int flagos_compare(const flagos_compare_request* request, flagos_compare_result* result) {
  namespace here = flagos::device_compare;
  if (request == nullptr || result == nullptr) {
    return here::fail(FLAGOS_COMPARE_BAD_ARGUMENT, "request and result must not be null");
  }
  return here::compare(*request, *result);
}

const char* flagos_compare_message(void) { return flagos::device_compare::message; }

int flagos_compare_version(void) { return FLAGOS_COMPARE_VERSION; }
