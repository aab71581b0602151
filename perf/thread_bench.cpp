// How calls scale with threads: 1, 2, 4 and 8 of them call on the same weights, native and on flagos. The library
// shares nothing between threads on the path of a call, so flagos over native must not grow with their number. Compare
// within one run; interleave with --benchmark_enable_random_interleaving=true --benchmark_repetitions=9.
#include <benchmark/benchmark.h>

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <functional>
#include <string>
#include <vector>

#include "flagos/flagos.h"

namespace {

struct Weights {
  explicit Weights(at::Device device)
      : activations(at::rand({8, 64}, device)), matrix(at::rand({64, 64}, device)), scale(at::rand({64}, device)) {}
  at::Tensor activations;
  at::Tensor matrix;
  at::Tensor scale;
};

struct Call {
  const char* name;
  at::Tensor (*run)(const Weights&);
};

const std::vector<Call>& calls() {
  static const std::vector<Call> all{
      {"view", [](const Weights& w) { return w.matrix.view({4096}); }},
      {"empty_like", [](const Weights& w) { return at::empty_like(w.activations); }},
      {"add", [](const Weights& w) { return at::add(w.activations, w.scale); }},
      {"mm", [](const Weights& w) { return at::mm(w.activations, w.matrix); }},
      {"layer_norm", [](const Weights& w) { return at::layer_norm(w.activations, {64}, w.scale, w.scale); }},
      {"mlp",
       [](const Weights& w) {  // shares one thread's work out over several operators
         return at::layer_norm(at::relu(at::mm(w.activations, w.matrix)).add_(w.activations), {64}, w.scale, w.scale);
       }},
  };
  return all;
}

void run(benchmark::State& state, const Call& call, const Weights& weights) {
  const c10::InferenceMode inference;
  for (auto _ : state) {
    benchmark::DoNotOptimize(call.run(weights));
  }
}

}  // namespace

int main(int argc, char** argv) {
  flagos::init();
  at::set_num_threads(1);
  const at::Device ours(at::kPrivateUse1, 0);
  const Weights native(flagos::to_target_device(ours));
  const Weights boxed(ours);
  for (const Call& call : calls()) {
    for (const auto& [arm, weights] : {std::pair{"native", &native}, std::pair{"flagos", &boxed}}) {
      const std::string name = std::string(call.name) + "/" + arm;
      benchmark::RegisterBenchmark(name.c_str(),
                                   [&call, weights = weights](benchmark::State& state) { run(state, call, *weights); })
          ->ThreadRange(1, 8)
          ->UseRealTime();
    }
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
    return 2;
  }
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
