// Calls that are repeated: which need new arguments, and that each run makes them all.
#include "measure/call_sequence.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "flagos_tensors.h"
#include "measure/bench.h"
#include "prediction/operator_facts.h"

namespace flagos::diag {
namespace {

using flagos::testing::on_flagos;

HostCall call_of(const char* op, Stack arguments) { return {op, operator_handle(op), std::move(arguments)}; }

TEST(CallSequence, ACallThatChangesALayoutNeedsFreshArguments) {
  for (const c10::Device device : {c10::Device(c10::kCPU), on_flagos().device()}) {
    HostCall unsqueeze = call_of("aten::unsqueeze_", {at::rand({3}), 0});
    try_out(unsqueeze, device);
    EXPECT_TRUE(unsqueeze.fresh_arguments);
    HostCall add = call_of("aten::add_.Tensor", {at::rand({3}), at::rand({3}), 1});
    try_out(add, device);
    EXPECT_FALSE(add.fresh_arguments);
  }
}

TEST(CallSequence, ARefusalIsThrown) {
  HostCall mm = call_of("aten::mm", {at::rand({3, 2}), at::rand({3, 2})});
  EXPECT_THROW(try_out(mm, on_flagos().device()), std::exception);
}

TEST(CallSequence, RunsMoreOftenThanALayoutCouldBeChanged) {
  std::vector<HostCall> calls = {call_of("aten::unsqueeze_", {at::rand({3}), 0})};
  try_out(calls[0], on_flagos().device());
  CallSequence sequence(calls, {0, 0}, on_flagos().device());
  constexpr size_t kRuns = 100;  // unsqueeze_ on one tensor fails beyond 64 dimensions
  sequence.prepare(kRuns);
  for (size_t run = 0; run < kRuns; ++run) {
    EXPECT_NO_THROW(sequence.run());
  }
}

TEST(CallSequence, TellsHowMuchMemoryFreshArgumentsTake) {
  std::vector<HostCall> calls = {call_of("aten::unsqueeze_", {at::rand({16}), 0}),
                                 call_of("aten::add_.Tensor", {at::rand({5}), at::rand({5}), 1})};
  calls[0].fresh_arguments = true;
  const size_t once = CallSequence(calls, {0}, c10::Device(c10::kCPU)).bytes_of_fresh_arguments();
  EXPECT_GE(once, 16 * sizeof(float));  // copies have storages with some bytes to spare
  EXPECT_EQ(CallSequence(calls, {0, 1, 0}, c10::Device(c10::kCPU)).bytes_of_fresh_arguments(), 2 * once);
  EXPECT_EQ(CallSequence(calls, {1}, c10::Device(c10::kCPU)).bytes_of_fresh_arguments(), 0U);
}

TEST(CallSequence, TheHostsArgumentsStayAsTheyAre) {
  const at::Tensor host = at::ones({3});
  std::vector<HostCall> calls = {call_of("aten::add_.Tensor", {host, at::ones({3}), 1})};
  CallSequence sequence(calls, {0}, c10::Device(c10::kCPU));
  sequence.run();
  EXPECT_TRUE(at::equal(host, at::ones({3})));
}

TEST(Bench, MeasuresEveryArmAndPair) {
  std::vector<HostCall> calls = {call_of("aten::add.Tensor", {at::rand({8}), at::rand({8}), 1})};
  BenchOptions options;
  options.budget_s = 0.2;
  const Row row = bench(calls, {0}, options);
  EXPECT_EQ(row.at("arms").size(), 4U);
  EXPECT_EQ(row.at("pairs").size(), 4U);
  for (const Row& pair : row.at("pairs")) {
    EXPECT_LE(pair.at("ratio_ci_low").get<double>(), pair.at("ratio").get<double>());
    EXPECT_GE(pair.at("ratio_ci_high").get<double>(), pair.at("ratio").get<double>());
  }
  EXPECT_GE(row.at("blocks").get<int>(), 8);
}

TEST(Bench, VeryShortCallsAreTimedInLongBatches) {
  for (const char* op : {"aten::detach_", "aten::t_"}) {  // the second changes a layout: fresh arguments
    std::vector<HostCall> calls = {call_of(op, {at::rand({8, 4})})};
    try_out(calls[0], on_flagos().device());
    BenchOptions options;
    options.budget_s = 0.1;
    const Row row = bench(calls, {0}, options);
    for (const char* arm : {"native", "off", "on"}) {
      const double batch = row.at("arms").at(arm).at("ns_median").get<double>() * row.at("runs").get<double>();
      EXPECT_GT(batch, 1e4) << op << " " << arm << ": " << row.at("runs");  // 20 us less the cost of the arguments
    }
  }
}

TEST(Bench, APlantedSlowdownIsMeasured) {
  std::vector<HostCall> calls = {call_of("aten::add.Tensor", {at::rand({8}), at::rand({8}), 1})};
  BenchOptions options;
  options.budget_s = 0.5;
  options.arms.same = true;
  options.arms.slowdown["on"] = 1.0;
  const Row row = bench(calls, {0}, options);
  EXPECT_GT(row.at("pairs").at(2).at("ratio").get<double>(), 1.4) << row.at("pairs").at(2);
}

}  // namespace
}  // namespace flagos::diag
