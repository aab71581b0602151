// Bytes a second of flagos_compare(), against torch.equal and a copy from device to device. A comparison reads each
// byte of both tensors once, a copy reads one and writes the other: all count twice the tensor's size.
#include <benchmark/benchmark.h>

#include <ATen/ATen.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stdexcept>

#include "cuda/device_comparison.h"

namespace {

using flagos::diag::DeviceComparison;

constexpr int64_t kSmallest = int64_t{1} << 20;
constexpr int64_t kLargest = int64_t{4} << 30;

std::unique_ptr<DeviceComparison> library;

void wait() { c10::impl::VirtualGuardImpl(c10::DeviceType::CUDA).synchronizeDevice(0); }

struct Pair {
  at::Tensor a;
  at::Tensor b;
};

Pair pair_of(const benchmark::State& state) {
  const at::Tensor a = at::randn({state.range(0) / static_cast<int64_t>(sizeof(float))},
                                 at::TensorOptions().device(c10::Device(c10::DeviceType::CUDA, 0)));
  Pair made{a, a.clone()};
  wait();
  return made;
}

void count_bytes(benchmark::State& state) { state.SetBytesProcessed(state.iterations() * 2 * state.range(0)); }

void compare_by_library(benchmark::State& state) {
  const Pair pair = pair_of(state);
  for (auto _ : state) {
    if (library->compare(pair.a, pair.b)->equal == 0) {
      state.SkipWithError("equal tensors differ");
      break;
    }
  }
  count_bytes(state);
}

// Both passes: the second one finds index, number and distance.
void describe_by_library(benchmark::State& state) {
  const Pair pair = pair_of(state);
  pair.b[-1] += 1;
  for (auto _ : state) {
    if (library->compare(pair.a, pair.b)->different != 1) {
      state.SkipWithError("the one difference was not found");
      break;
    }
  }
  count_bytes(state);
}

void compare_transposed_by_library(benchmark::State& state) {
  const Pair pair = pair_of(state);
  const at::Tensor a = pair.a.view({1024, -1}).t();
  const at::Tensor b = pair.b.view({1024, -1}).t();
  for (auto _ : state) {
    benchmark::DoNotOptimize(library->compare(a, b)->equal);
  }
  count_bytes(state);
}

void torch_equal(benchmark::State& state) {
  const Pair pair = pair_of(state);
  for (auto _ : state) {
    benchmark::DoNotOptimize(at::equal(pair.a, pair.b));
  }
  count_bytes(state);
}

void copy_on_device(benchmark::State& state) {
  const Pair pair = pair_of(state);
  for (auto _ : state) {
    pair.b.copy_(pair.a);
    wait();
  }
  count_bytes(state);
}

#define BY_SIZE(function) BENCHMARK(function)->RangeMultiplier(16)->Range(kSmallest, kLargest)->UseRealTime()
BY_SIZE(compare_by_library);
BY_SIZE(describe_by_library);
BY_SIZE(compare_transposed_by_library);
BY_SIZE(torch_equal);
BY_SIZE(copy_on_device);

}  // namespace

int main(int argc, char** argv) {
  const char* path = std::getenv("FLAGOS_DEVICE_COMPARE");
  if (path == nullptr) {
    std::fputs("set FLAGOS_DEVICE_COMPARE to libflagos-device-compare.so\n", stderr);
    return 2;
  }
  if (!at::hasCUDA()) {
    std::puts("skipped: no usable CUDA device");
    return 77;
  }
  try {
    library = std::make_unique<DeviceComparison>(path);
  } catch (const std::runtime_error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
