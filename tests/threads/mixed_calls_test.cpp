// Threads that share weights and call everything at once; values are checked against the target's own results.
// FLAGOS_THREADS_SECONDS: how long each test runs, default 1.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "flagos/flagos.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::host;
using testing::on_flagos;

constexpr size_t kThreads = 8;

double seconds() {
  const char* text = std::getenv("FLAGOS_THREADS_SECONDS");
  return text != nullptr ? std::atof(text) : 1.0;
}

// Runs `body(thread, round)` on every thread until the time is up, and `meanwhile` on this one; prints the rounds made.
void run_threads(
    const char* what, const std::function<void(size_t, uint64_t)>& body,
    const std::function<void()>& meanwhile = [] { std::this_thread::yield(); }) {
  std::atomic<bool> stop{false};
  std::array<uint64_t, kThreads> rounds{};
  std::vector<std::thread> threads;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      do {
        body(t, rounds.at(t)++);
      } while (!stop.load() && !::testing::Test::HasFailure());
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds());
  do {
    meanwhile();
  } while (std::chrono::steady_clock::now() < end);
  stop = true;
  uint64_t total = 0;
  for (size_t t = 0; t < kThreads; ++t) {
    threads.at(t).join();
    total += rounds.at(t);
  }
  std::printf("%s: %zu threads, %llu rounds\n", what, kThreads, static_cast<unsigned long long>(total));
  EXPECT_GE(total, kThreads);
}

// What every thread computes of the shared weights: a matrix product, pointwise, views, lists, out=, in place.
at::Tensor mixed(const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& x) {
  at::Tensor y = at::addmm(bias, x, weight.t());
  y.add_(bias).mul_(2);
  std::vector<at::Tensor> list{y, y.relu(), y.slice(1, 0, 2)};
  at::_foreach_add_(list, 1);
  at::Tensor joined = at::cat({list[0], list[1], list[2]}, 1);
  at::Tensor out = at::empty({0}, joined.options());
  at::add_out(out, joined, joined.select(0, 0));
  return at::_softmax(out, 1, false).sum(0, true) + joined.mean();
}

struct Weights {
  at::Tensor weight = at::linspace(-1, 1, 12, at::kFloat).view({4, 3});
  at::Tensor bias = at::linspace(0, 1, 4, at::kFloat);
};

at::Tensor input(size_t thread) {
  const auto end = static_cast<double>(thread + 1);
  return at::linspace(-end, end, 15, at::kFloat).view({5, 3});
}

TEST(MixedCalls, SharedWeightsGiveTheTargetsValues) {
  const Weights native;
  const at::Tensor weight = native.weight.to(on_flagos().device());
  const at::Tensor bias = native.bias.to(on_flagos().device());
  std::vector<at::Tensor> inputs;
  std::vector<at::Tensor> expected;
  for (size_t t = 0; t < kThreads; ++t) {
    inputs.push_back(input(t).to(on_flagos().device()));
    expected.push_back(mixed(native.weight, native.bias, input(t)));
  }
  bool on = false;
  run_threads(
      "switches, routes, statistics",
      [&](size_t t, uint64_t /*round*/) {
        const at::NoGradGuard no_grad;
        EXPECT_TRUE(at::equal(host(mixed(weight, bias, inputs.at(t))), expected.at(t)));
      },
      [&] {
        set_redispatch_enabled(on);
        set_route("add.Tensor", on ? "dispatch" : "native");
        set_route("mm", on ? "native" : "dispatch");
        for (const OpStats& op : stats()) {
          EXPECT_GE(op.calls, op.hits) << op.op;
        }
        if (on) {
          reset_stats();
        }
        on = !on;
      });
  clear_routes();
  set_redispatch_enabled(true);
}

// A guard that ends while the process-wide switch is set must not leave the thread with the old setting.
TEST(MixedCalls, GuardsAndTheProcessWideSwitchAgreeInTheEnd) {
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::atomic<bool> started{false};
    std::atomic<bool> stop{false};
    std::atomic<int> wrong{0};
    std::thread guarded([&] {
      started = true;
      while (!stop.load()) {
        for (int i = 0; i < 100; ++i) {
          const RedispatchGuard guard((i & 1) != 0);
        }
      }
      wrong += redispatch_enabled() ? 1 : 0;
    });
    while (!started.load()) {
    }
    for (int i = 0; i < 5000; ++i) {
      set_redispatch_enabled((i & 1) == 0);
    }
    stop = true;
    guarded.join();
    EXPECT_EQ(wrong.load(), 0) << "the process-wide switch is off and the thread has no guard";
  }
  set_redispatch_enabled(true);
}

TEST(MixedCalls, PrivateTensorsSwapStoragesWhileASharedOneIsRead) {
  const at::Tensor shared = at::ones({64}, on_flagos());
  run_threads("storages", [&](size_t t, uint64_t round) {
    const at::NoGradGuard no_grad;
    const auto value = static_cast<double>(t + 1);
    at::Tensor mine = at::empty({0}, on_flagos());
    mine.resize_({64}).fill_(value);
    mine.add_(shared);
    EXPECT_TRUE(at::equal(host(mine), at::full({64}, value + 1)));
    at::Tensor other = at::full({static_cast<int64_t>(round % 7 + 1)}, value, on_flagos());
    mine.set_(other);
    EXPECT_TRUE(mine.is_alias_of(other));
    mine.mul_(2);
    EXPECT_TRUE(at::equal(host(other), at::full({other.size(0)}, 2 * value)));
    mine.set_data(shared + value);
    EXPECT_TRUE(at::equal(host(mine), at::full({64}, value + 1)));
  });
  EXPECT_TRUE(at::equal(host(shared), at::ones({64})));
}

// Only operators that no other thread calls: the dispatcher's table is not locked against calls. They are defined once.
TEST(MixedCalls, KernelsComeAndGo) {
  const at::Tensor shared = at::ones({8}, on_flagos());
  torch::Library definition(torch::Library::FRAGMENT, "threads_test", std::nullopt, __FILE__, __LINE__);
  for (size_t t = 0; t < kThreads; ++t) {
    const std::string schema = "plus" + std::to_string(t) + "(Tensor x) -> Tensor";
    definition.def(schema.c_str());
  }
  run_threads("registrations", [&](size_t t, uint64_t /*round*/) {
    const std::string name = "plus" + std::to_string(t);
    const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(("threads_test::" + name).c_str(), "");
    const auto plus = handle.typed<at::Tensor(const at::Tensor&)>();
    {
      torch::Library at_target(torch::Library::IMPL, "threads_test", c10::DispatchKey::CPU, __FILE__, __LINE__);
      at_target.impl(name.c_str(), [](const at::Tensor& x) { return x + 1; });
      const at::Tensor y = plus.call(shared);
      EXPECT_EQ(y.device(), shared.device());
      EXPECT_TRUE(at::equal(host(y), at::full({8}, 2.0)));
    }
    torch::Library at_flagos(torch::Library::IMPL, "threads_test", c10::DispatchKey::PrivateUse1, __FILE__, __LINE__);
    at_flagos.impl(name.c_str(), [](const at::Tensor& x) { return x + 2; });
    EXPECT_TRUE(at::equal(host(plus.call(shared)), at::full({8}, 3.0)));
  });
}

// A library that ends frees its operators; what another one defines under their names is a new operator, of another
// schema perhaps.
TEST(MixedCalls, OperatorsAreDefinedAnew) {
  const at::Tensor shared = at::ones({8}, on_flagos());
  run_threads("definitions", [&](size_t t, uint64_t round) {
    const std::string space = "threads_test_" + std::to_string(t);
    torch::Library library(torch::Library::DEF, space, std::nullopt, __FILE__, __LINE__);
    const bool in_place = round % 2 == 1;
    library.def(in_place ? "add(Tensor(a!) x) -> Tensor(a!)" : "add(Tensor x) -> Tensor");
    torch::Library at_target(torch::Library::IMPL, space, c10::DispatchKey::CPU, __FILE__, __LINE__);
    const auto op = [&] { return c10::Dispatcher::singleton().findSchemaOrThrow((space + "::add").c_str(), ""); };
    if (in_place) {
      at_target.impl("add", [](at::Tensor& x) -> at::Tensor& { return x.add_(2); });
      at::Tensor mine = shared.clone();
      at::Tensor& result = op().typed<at::Tensor&(at::Tensor&)>().call(mine);
      EXPECT_TRUE(result.is_same(mine));
      EXPECT_TRUE(at::equal(host(mine), at::full({8}, 3.0)));
    } else {
      at_target.impl("add", [](const at::Tensor& x) { return x + 1; });
      const at::Tensor y = op().typed<at::Tensor(const at::Tensor&)>().call(shared);
      EXPECT_TRUE(at::equal(host(y), at::full({8}, 2.0)));
    }
    EXPECT_GT(op_stats(space + "::add").calls, 0);
  });
  for (const OpStats& each : stats()) {  // the names outlive the operators
    EXPECT_FALSE(each.op.empty());
  }
}

TEST(MixedCalls, BackwardThroughASharedPart) {
  run_threads("backward", [](size_t t, uint64_t /*round*/) {
    // A weight of this thread; two further threads go backward through the part that they share.
    at::Tensor weight = at::full({6}, static_cast<double>(t + 1), on_flagos()).requires_grad_();
    const at::Tensor part = weight * weight;
    std::thread one([&] { (part * 2).sum().backward({}, /*retain_graph=*/true); });
    std::thread two([&] { (part * 3).sum().backward({}, /*retain_graph=*/true); });
    one.join();
    two.join();
    EXPECT_TRUE(at::equal(host(weight.grad()), at::full({6}, 10.0 * static_cast<double>(t + 1))));
  });
}

}  // namespace
}  // namespace flagos
