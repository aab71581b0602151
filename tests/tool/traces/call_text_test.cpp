#include "traces/call_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "traces/argument_source.h"
#include "traces/exact_repeats.h"

namespace flagos::diag {
namespace {

TensorRecord record(int64_t id, int64_t storage, std::vector<int64_t> sizes, std::vector<int64_t> strides) {
  TensorRecord made;
  made.tensor_id = id;
  made.storage_id = storage;
  made.sizes = std::move(sizes);
  made.strides = std::move(strides);
  return made;
}

// Equal up to ids and origin, which don't matter.
void expect_round_trip(const CallRecord& call) {
  const std::string text = call_text(call);
  EXPECT_EQ(text.find('\n'), std::string::npos);
  const CallRecord again = call_of_text(call.op, text);
  EXPECT_EQ(repeat_key(again), repeat_key(call)) << text;
  EXPECT_EQ(call_text(again), text);
}

TEST(CallText, EveryKindOfValue) {
  TensorRecord indices = record(7, 70, {3}, {2});
  indices.dtype = c10::ScalarType::Long;
  indices.offset = 5;
  indices.range = {0, 8};
  const std::vector<Value> list = {{record(8, 70, {2, 2}, {2, 1})}, {std::monostate{}}, {indices}};
  expect_round_trip(
      {"aten::index_put", {{record(9, 90, {2, 0, 3}, {3, 3, 1})}, {list}, {int64_t{-3}}, {true}}, "", 0, 0});
  expect_round_trip(
      {"aten::add.Scalar", {{record(1, 1, {}, {})}, {0.1}, {-std::numeric_limits<double>::infinity()}}, "", 0, 0});
  expect_round_trip({"aten::norm.ScalarOpt_dim",
                     {{record(1, 1, {2}, {1})}, {std::string("<ComplexDouble>")}, {std::vector<Value>{}}},
                     "",
                     0,
                     0});
}

TEST(CallText, NotANumber) {
  const CallRecord again =
      call_of_text("aten::add.Scalar", call_text({"aten::add.Scalar", {{std::nan("")}}, "", 0, 0}));
  EXPECT_TRUE(std::isnan(std::get<double>(again.arguments.at(0).data)));
}

TEST(CallText, EveryRecordedCallOfAFewOperators) {
  const auto source = ArgumentSource::bundled();
  size_t calls = 0;
  for (const char* op : {"aten::add.Tensor", "aten::cat", "aten::index.Tensor", "aten::_foreach_add.List", "aten::view",
                         "aten::embedding_bag", "aten::native_layer_norm", "aten::scatter_add"}) {
    for (const CallRecord& call : source.calls(op)) {
      expect_round_trip(call);
      ++calls;
    }
  }
  EXPECT_GT(calls, 20U);
}

TEST(CallText, SaysWhatIsWrong) {
  const auto complaint = [](const char* op, const char* text) -> std::string {
    try {
      call_of_text(op, text);
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(complaint("aten::mm", "[]"), "they are no JSON object");
  EXPECT_EQ(complaint("aten::no_such_op", R"j({"values":[],"shapes":[],"types":[]})j"),
            "this torch has no operator aten::no_such_op");
  EXPECT_NE(complaint("aten::mm", R"j({"values":[[1,1,0,9,4,"cpu"]],"shapes":[[2]],"types":["Tensor(float)"]})j")
                .find("claims 9 elements"),
            std::string::npos);
}

}  // namespace
}  // namespace flagos::diag
