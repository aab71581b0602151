// A call on flagos asks for no more memory than the native call, and takes no more locks: with the fast path and
// without, for calls of every shape but two, which are named. Expected counts are those of the same call on the target,
// in the same process.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "flagos/redispatch.h"
#include "flagos_tensors.h"
#include "hot_path/counted_calls.h"

namespace flagos {
namespace {

using at::Tensor;
using testing::Counts;
using testing::counts;
using testing::on_flagos;

constexpr int kWarm = 8;  // calls before the count: thread state, pools, counters of the operator
constexpr int kCalls = 50;
constexpr int64_t kLargeAlias =
    1;  // sizes and strides of six and more dimensions, which TensorImpl keeps in memory of their own
constexpr int64_t kLongList = 1;  // the handles of a list of more than eight tensors

struct Operands {
  explicit Operands(const at::TensorOptions& options)
      : x(at::rand({4, 6}, options)),
        y(at::rand({4, 6}, options)),
        out(at::empty({4, 6}, options)),
        square(at::rand({6, 6}, options)),
        deep(at::rand({1, 2, 1, 2, 1, 2}, options)),
        very_deep(at::rand({1, 2, 1, 2, 1, 2, 1}, options)),
        mask(x.gt(0.5)) {
    for (int i = 0; i < 4; ++i) {
      few.push_back(at::rand({2, 3}, options));
    }
    for (int i = 0; i < 300; ++i) {
      many.push_back(at::rand({2}, options));
    }
  }
  Tensor x, y, out, square, deep, very_deep, mask;
  std::vector<Tensor> few, many;
};

struct Call {
  const char* name;
  std::function<void(Operands&)> make;
  int64_t allocations = 0;  // more than native, in one call
};

// NOLINTBEGIN(bugprone-unused-return-value)
const std::vector<Call>& calls() {
  static const auto* all = new std::vector<Call>{
      {"add_", [](Operands& o) { o.x.add_(o.y); }},
      {"add.out", [](Operands& o) { at::add_out(o.out, o.x, o.y); }},
      {"add", [](Operands& o) { at::add(o.x, o.y); }},
      {"add a number", [](Operands& o) { at::add(o.x, 1); }},
      {"relu", [](Operands& o) { at::relu(o.x); }},
      {"mm", [](Operands& o) { at::mm(o.x, o.square); }},
      {"addmm", [](Operands& o) { at::addmm(o.y, o.x, o.square); }},
      {"softmax", [](Operands& o) { at::softmax(o.x, 1); }},
      {"sum", [](Operands& o) { at::sum(o.x); }},
      {"max of a dimension", [](Operands& o) { at::max(o.x, 1); }},
      {"where", [](Operands& o) { at::where(o.mask, o.x, o.y); }},
      {"clamp with tensors", [](Operands& o) { at::clamp(o.x, o.y, std::optional<Tensor>()); }},
      {"layer_norm", [](Operands& o) { at::native_layer_norm(o.x, {6}, o.y[0], o.y[1], 1e-5); }},
      {"copy_", [](Operands& o) { o.out.copy_(o.x); }},
      {"clone", [](Operands& o) { at::clone(o.x); }},
      {"empty_like", [](Operands& o) { at::empty_like(o.x); }},
      {"zero_", [](Operands& o) { o.out.zero_(); }},
      {"view", [](Operands& o) { o.x.view({24}); }},
      {"transpose", [](Operands& o) { o.x.transpose(0, 1); }},
      {"slice", [](Operands& o) { o.x.slice(1, 1, 5); }},
      {"select", [](Operands& o) { o.x.select(0, 2); }},
      {"six dimensions", [](Operands& o) { o.deep.add_(o.deep); }, kLargeAlias},
      {"seven dimensions", [](Operands& o) { o.very_deep.add_(o.very_deep); }, kLargeAlias},
      {"_foreach_add_ of 4", [](Operands& o) { at::_foreach_add_(o.few, 1); }},
      {"_foreach_add_ of 300", [](Operands& o) { at::_foreach_add_(o.many, 1); }, kLongList},
  };
  return *all;
}
// NOLINTEND(bugprone-unused-return-value)

Counts counted(const Call& call, Operands& operands) {
  for (int i = 0; i < kWarm; ++i) {
    call.make(operands);
  }
  const Counts before = counts();
  for (int i = 0; i < kCalls; ++i) {
    call.make(operands);
  }
  const Counts after = counts();
  return {after.allocations - before.allocations, after.locks - before.locks};
}

void PrintTo(const Call& call, std::ostream* out) { *out << call.name; }

class HotPath : public ::testing::TestWithParam<Call> {};

TEST_P(HotPath, AsksForNothingMoreThanTheNativeCall) {
  const at::NoGradGuard no_grad;
  Operands on_target(at::TensorOptions{at::kCPU});
  Operands on_device(on_flagos());
  const Counts native = counted(GetParam(), on_target);
  for (const bool on : {true, false}) {
    const RedispatchGuard guard(on);
    const Counts ours = counted(GetParam(), on_device);
    EXPECT_LE(ours.allocations, native.allocations + GetParam().allocations * kCalls)
        << "in " << kCalls << " calls, fast path " << on;
    EXPECT_LE(ours.locks, native.locks) << "in " << kCalls << " calls, fast path " << on;
  }
}

std::string name_of(const ::testing::TestParamInfo<Call>& info) {
  std::string name = info.param.name;
  std::replace_if(
      name.begin(), name.end(), [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Calls, HotPath, ::testing::ValuesIn(calls()), name_of);

// That the counters see anything at all.
TEST(Counters, SeeMemoryAndLocks) {
  const Counts before = counts();
  {
    const std::vector<int> memory(1000);
    EXPECT_EQ(memory.size(), 1000U);
  }
  std::mutex mutex;
  { const std::lock_guard lock(mutex); }
  const Counts after = counts();
  EXPECT_GE(after.allocations - before.allocations, 1);
  EXPECT_GE(after.locks - before.locks, 1);
}

}  // namespace
}  // namespace flagos
