// The gate by itself, and boxing by kind of argument.
#include <benchmark/benchmark.h>

#include <ATen/ATen.h>

#include <vector>

#include "boxing/arguments.h"
#include "boxing/frame.h"
#include "flagos/flagos.h"
#include "redispatch/gate.h"

namespace {

using flagos::boxing::Argument;
using flagos::boxing::Frame;

at::TensorOptions on_flagos() { return at::TensorOptions().device(at::Device(at::kPrivateUse1, 0)); }

void gate_fast(benchmark::State& state) {
  uint64_t keys = flagos::target().dense_keys;
  for (auto _ : state) {
    benchmark::DoNotOptimize(keys);
    benchmark::DoNotOptimize(flagos::is_fast(flagos::effective_keys(keys)));
  }
}
BENCHMARK(gate_fast);

void gate_refuses_conj(benchmark::State& state) {
  const auto op = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const uint64_t keys = flagos::target().dense_keys | flagos::keys::bits(c10::DispatchKey::Conjugate);
  for (auto _ : state) {
    benchmark::DoNotOptimize(flagos::gate_slow(op, keys));
  }
}
BENCHMARK(gate_refuses_conj);

void box_tensors(benchmark::State& state) {
  std::vector<at::Tensor> tensors;
  for (int64_t i = 0; i < state.range(0); ++i) {
    tensors.push_back(at::rand({8, 8}, on_flagos()));
  }
  for (auto _ : state) {
    Frame frame;
    for (const at::Tensor& tensor : tensors) {
      benchmark::DoNotOptimize(frame.box<false>(tensor));
    }
  }
}
BENCHMARK(box_tensors)->DenseRange(1, 4);

void box_mutated(benchmark::State& state) {
  const at::Tensor tensor = at::rand({8, 8}, on_flagos());
  for (auto _ : state) {
    Frame frame;
    benchmark::DoNotOptimize(frame.box<true>(tensor));
    frame.write_back();
  }
}
BENCHMARK(box_mutated);

void box_six_dimensions(benchmark::State& state) {
  const at::Tensor tensor = at::rand({2, 2, 2, 2, 2, 2}, on_flagos());
  for (auto _ : state) {
    Frame frame;
    benchmark::DoNotOptimize(frame.box<false>(tensor));
  }
}
BENCHMARK(box_six_dimensions);

void box_list(benchmark::State& state) {
  std::vector<at::Tensor> tensors;
  for (int64_t i = 0; i < state.range(0); ++i) {
    tensors.push_back(at::rand({8}, on_flagos()));
  }
  for (auto _ : state) {
    Frame frame;
    Argument<at::TensorList, false> list(frame, tensors);
    benchmark::DoNotOptimize(list.get());
  }
}
BENCHMARK(box_list)->Arg(4)->Arg(300);

void box_optional(benchmark::State& state) {
  const std::optional<at::Tensor> tensor = at::rand({8}, on_flagos());
  for (auto _ : state) {
    Frame frame;
    Argument<const std::optional<at::Tensor>&, false> boxed(frame, tensor);
    benchmark::DoNotOptimize(boxed.get());
  }
}
BENCHMARK(box_optional);

}  // namespace

BENCHMARK_MAIN();
