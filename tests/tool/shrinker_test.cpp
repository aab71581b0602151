#include "verify/shrinker.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "prediction/operator_facts.h"
#include "traces/call_text.h"

namespace flagos::diag {
namespace {

using Values = std::vector<Value>;

TensorRecord record(int64_t id, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  TensorRecord made;
  made.tensor_id = id;
  made.storage_id = id;
  made.sizes = std::move(sizes);
  made.strides = std::move(strides);
  return made;
}

const TensorRecord& tensor(const CaseInput& input, size_t argument) {
  return std::get<TensorRecord>(input.call.arguments.at(argument).data);
}

Shrunk shrunk(const CaseInput& input, const std::function<bool(const CaseInput&)>& fails, ShrinkBounds bounds = {}) {
  return shrink(input, operator_handle(input.call.op).schema(), false, fails, bounds);
}

CaseInput addition() {
  return {{"aten::add.Tensor", {{record(1, {4, 6}, {6, 1})}, {record(2, {4, 6}, {1, 4})}, {int64_t{3}}}, "", 0, 0},
          Variant::kNeg};
}

TEST(Shrinker, ToTheSmallestWhereEverythingFails) {
  const Shrunk found = shrunk(addition(), [](const CaseInput&) { return true; });
  EXPECT_EQ(found.input.variant, Variant::kAsRecorded);
  EXPECT_EQ(found.input.data, Data::kConstant);
  EXPECT_EQ(
      call_text(found.input.call),
      R"j({"shapes":[[],[]],"types":["Tensor(float)","Tensor(float)"],"values":[[1,1,0,1,4,"cpu"],[2,2,0,1,4,"cpu"]]})j");
}

TEST(Shrinker, KeepsWhatTheFailureNeeds) {
  const Shrunk found = shrunk(addition(), [](const CaseInput& input) {
    const auto& sizes = tensor(input, 1).sizes;
    return input.variant == Variant::kNeg && sizes.size() == 2 && sizes[1] >= 3 && sizes == tensor(input, 0).sizes &&
           tensor(input, 1).strides[0] == 1 && input.call.arguments.size() == 3;
  });
  EXPECT_EQ(found.input.variant, Variant::kNeg);
  EXPECT_EQ(tensor(found.input, 0).sizes, (std::vector<int64_t>{1, 3}));
  EXPECT_EQ(tensor(found.input, 1).strides, (std::vector<int64_t>{1, 4}));  // within the memory it had
  EXPECT_EQ(std::get<int64_t>(found.input.call.arguments.at(2).data), 1);   // the default
}

TEST(Shrinker, NothingSmallerFails) {
  const Shrunk found = shrunk(addition(), [](const CaseInput&) { return false; });
  EXPECT_EQ(found.steps, 0U);
  EXPECT_EQ(call_text(found.input.call), call_text(addition().call));
  EXPECT_EQ(found.input.variant, Variant::kNeg);
}

TEST(Shrinker, Bounds) {
  size_t calls = 0;
  const auto count = [&](const CaseInput&) {
    ++calls;
    return false;
  };
  EXPECT_EQ(shrunk(addition(), count, {5}).tries, 5U);
  EXPECT_EQ(calls, 5U);
  EXPECT_EQ(shrunk(addition(), count, {100, std::chrono::steady_clock::now() - std::chrono::seconds(1)}).tries, 0U);
}

TEST(Shrinker, ListsGetShorter) {
  Values list;
  for (int64_t i = 1; i <= 5; ++i) {
    list.push_back({record(i, {i}, {1})});
  }
  const Shrunk found = shrunk({{"aten::cat", {{list}, {int64_t{0}}}, "", 0, 0}}, [](const CaseInput& input) {
    const auto& items = std::get<Values>(input.call.arguments.at(0).data);
    return std::any_of(items.begin(), items.end(),
                       [](const Value& item) { return std::get<TensorRecord>(item.data).tensor_id == 4; });
  });
  EXPECT_EQ(std::get<Values>(found.input.call.arguments.at(0).data).size(), 1U);
}

TEST(Shrinker, IndicesStayWithinWhatTheyIndex) {
  TensorRecord indices = record(2, {5}, {1});
  indices.dtype = c10::ScalarType::Long;
  indices.range = {0, 7};
  const CaseInput input = {{"aten::index_select", {{record(1, {8, 3}, {3, 1})}, {int64_t{0}}, {indices}}, "", 0, 0}};
  size_t smaller = 0;
  for (const CaseInput& candidate : shrink_candidates(input, operator_handle(input.call.op).schema(), false)) {
    const auto& sizes = tensor(candidate, 0).sizes;
    if (sizes.size() == 2 && sizes[0] < 8 && tensor(candidate, 2).sizes.size() == 1 &&
        tensor(candidate, 2).range != indices.range) {
      EXPECT_LT(tensor(candidate, 2).range->second, sizes[0]);
      ++smaller;
    }
  }
  EXPECT_GE(smaller, 3U);  // 1, 4 and 7
}

TEST(Shrinker, FixedLayoutsKeepTheirArguments) {
  for (const CaseInput& candidate :
       shrink_candidates(addition(), operator_handle("aten::add.Tensor").schema(), /*fixed_layout=*/true)) {
    EXPECT_EQ(call_text(candidate.call), call_text(addition().call));
  }
}

Row failing(const char* arm, const char* reason) {
  return {{"rows", {{{"arm_a", "native"}, {"arm_b", arm}, {"equal", false}, {"reason", reason}}}}};
}

TEST(Shrinker, KindsOfFailure) {
  const std::string kind = failure_kind(failing("on", "output 0: contents, 3 of 6"));
  EXPECT_EQ(kind,
            failure_kind(failing("on", "output 0: contents, 1 of 1; of further runs: 0 of 9 runs of on deviated")));
  EXPECT_NE(kind, failure_kind(failing("off", "output 0: contents, 3 of 6")));
  EXPECT_NE(kind, failure_kind(failing("on", "output 0: strides [3, 1] against [1, 2]")));
  EXPECT_EQ(failure_kind(failing("on", "output 0: strides [3, 1] against [1, 2]")),
            failure_kind(failing("on", "output 0: strides [1] against [2]")));
  EXPECT_EQ(failure_kind({{"rows", Row::array()}}), "");
}

}  // namespace
}  // namespace flagos::diag
