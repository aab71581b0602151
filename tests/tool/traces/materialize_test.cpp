#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "traces/argument_source.h"

namespace flagos::diag {
namespace {

using Sizes = std::vector<int64_t>;

c10::OperatorHandle op_named(const std::string& name, const std::string& overload = "") {
  return c10::Dispatcher::singleton().findSchemaOrThrow(("aten::" + name).c_str(), overload.c_str());
}

TensorRecord tensor_record(int64_t storage, Sizes sizes, Sizes strides, c10::ScalarType dtype = at::kFloat,
                           int64_t offset = 0) {
  TensorRecord record;
  record.tensor_id = storage * 1000 + offset;
  record.storage_id = storage;
  record.sizes = std::move(sizes);
  record.strides = std::move(strides);
  record.dtype = dtype;
  record.offset = offset;
  return record;
}

std::vector<c10::IValue> build(const c10::OperatorHandle& op, std::vector<Value> arguments,
                               const MaterializeOptions& options = {}) {
  return materialize(CallRecord{c10::toString(op.operator_name()), std::move(arguments), "test"}, op, options);
}

std::string failure_of(const c10::OperatorHandle& op, std::vector<Value> arguments) {
  try {
    build(op, std::move(arguments));
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(Materialize, KeepsLayoutAndFillsDefaults) {
  const auto made = build(op_named("add", "Tensor"),
                          {{tensor_record(1, {2, 3}, {1, 2}, at::kFloat, 4)}, {tensor_record(2, {3}, {0}, at::kHalf)}});
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].toTensor().sizes(), (Sizes{2, 3}));
  EXPECT_EQ(made[0].toTensor().strides(), (Sizes{1, 2}));
  EXPECT_EQ(made[0].toTensor().storage_offset(), 4);
  EXPECT_EQ(made[1].toTensor().scalar_type(), at::kHalf);
  EXPECT_EQ(made[2].toInt(), 1);  // alpha
}

TEST(Materialize, OneStorageIdIsOneStorage) {
  const auto made = build(op_named("add", "out"), {{tensor_record(1, {4}, {1})},
                                                   {tensor_record(1, {4}, {1}, at::kFloat, 3)},
                                                   {int64_t{1}},
                                                   {tensor_record(2, {4}, {1})}});
  EXPECT_TRUE(made[0].toTensor().is_alias_of(made[1].toTensor()));
  EXPECT_FALSE(made[0].toTensor().is_alias_of(made[3].toTensor()));
  EXPECT_EQ(made[0].toTensor()[3].item<float>(), made[1].toTensor()[0].item<float>());
}

TEST(Materialize, StorageIsSharedBetweenDtypes) {
  const auto made =
      build(op_named("add", "Tensor"), {{tensor_record(1, {3}, {1})}, {tensor_record(1, {5}, {1}, at::kChar, 2)}});
  EXPECT_TRUE(made[0].toTensor().is_alias_of(made[1].toTensor()));
  EXPECT_EQ(made[1].toTensor().scalar_type(), at::kChar);
}

TEST(Materialize, EmptyTensorsShareNothing) {
  auto other = tensor_record(0, {0}, {1});
  other.tensor_id = 9;
  const auto made = build(op_named("add", "Tensor"), {{tensor_record(0, {0}, {1})}, {other}});
  EXPECT_NE(made[0].toTensor().storage().unsafeGetStorageImpl(), made[1].toTensor().storage().unsafeGetStorageImpl());
}

TEST(Materialize, DataFollowTheSeedOnly) {
  const auto op = op_named("add", "Tensor");
  const std::vector<Value> arguments = {{tensor_record(1, {50}, {1})}, {tensor_record(2, {50}, {1})}};
  at::manual_seed(1);
  const auto first = build(op, arguments);
  at::manual_seed(2);
  const auto again = build(op, arguments);
  MaterializeOptions other;
  other.seed = 7;
  EXPECT_TRUE(at::equal(first[0].toTensor(), again[0].toTensor()));
  EXPECT_FALSE(at::equal(first[0].toTensor(), build(op, arguments, other)[0].toTensor()));
  EXPECT_FALSE(at::equal(first[0].toTensor(), first[1].toTensor()));
}

TEST(Materialize, DoesNotDrawFromTheGlobalGenerator) {
  at::manual_seed(5);
  const float expected = at::rand({1}).item<float>();
  at::manual_seed(5);
  build(op_named("abs"), {{tensor_record(1, {50}, {1})}});
  EXPECT_EQ(at::rand({1}).item<float>(), expected);
}

TEST(Materialize, DataLieInTheirRanges) {
  auto index = tensor_record(1, {200}, {1}, at::kLong);
  index.range = {-3, 4};
  auto bytes = tensor_record(2, {200}, {1}, at::kByte);
  bytes.range = {-5, 1000};
  const auto made = build(op_named("add", "Tensor"), {{index}, {bytes}});
  EXPECT_EQ(made[0].toTensor().min().item<int64_t>(), -3);
  EXPECT_EQ(made[0].toTensor().max().item<int64_t>(), 4);
  EXPECT_GT(made[1].toTensor().max().item<int64_t>(), 100);
  const auto defaults = build(op_named("add", "Tensor"),
                              {{tensor_record(1, {200}, {1}, at::kInt)}, {tensor_record(2, {200}, {1}, at::kDouble)}});
  EXPECT_EQ(defaults[0].toTensor().min().item<int>(), 0);
  EXPECT_EQ(defaults[0].toTensor().max().item<int>(), 1);
  EXPECT_GT(defaults[1].toTensor().min().item<double>(), 0.1);
  EXPECT_LT(defaults[1].toTensor().max().item<double>(), 0.9);
  const auto flags = build(op_named("logical_not"), {{tensor_record(1, {10}, {1}, at::kBool)}});
  EXPECT_EQ(flags[0].toTensor().sum().item<int64_t>(), 5);
}

TEST(Materialize, FullRangeOf64BitsDoesNotOverflow) {
  auto index = tensor_record(1, {100}, {1}, at::kLong);
  index.range = {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  const at::Tensor data = build(op_named("abs"), {{index}})[0].toTensor();
  EXPECT_LT(data.min().item<int64_t>(), 0);
  EXPECT_GT(data.max().item<int64_t>(), 0);
}

TEST(Materialize, ComplexDataKeepPrecisionAndLayout) {
  MaterializeOptions options;
  options.complex_data = true;
  const auto made =
      build(op_named("add", "Tensor"),
            {{tensor_record(1, {2, 2}, {1, 2}, at::kDouble, 1)}, {tensor_record(2, {2}, {1}, at::kLong)}}, options);
  EXPECT_EQ(made[0].toTensor().scalar_type(), at::kComplexDouble);
  EXPECT_EQ(made[0].toTensor().strides(), (Sizes{1, 2}));
  EXPECT_EQ(made[1].toTensor().scalar_type(), at::kLong);
  EXPECT_NE(at::imag(made[0].toTensor())[0][0].item<double>(), 0.0);
}

TEST(Materialize, ListsAndOptionalsBecomeWhatTheSchemaWants) {
  const std::vector<Value> tensors = {{}, {tensor_record(2, {2}, {1}, at::kLong)}};
  const auto index = build(op_named("index", "Tensor"), {{tensor_record(1, {3, 4}, {4, 1})}, {tensors}});
  const auto indices = index[1].toOptionalTensorVector();
  ASSERT_EQ(indices.size(), 2u);
  EXPECT_FALSE(indices[0].has_value());
  EXPECT_TRUE(indices[1].has_value());

  const std::vector<Value> sizes = {{int64_t{2}}, {int64_t{6}}};
  EXPECT_EQ(build(op_named("view"), {{tensor_record(1, {12}, {1})}, {sizes}})[1].toIntVector(), (Sizes{2, 6}));

  const std::vector<Value> scalars = {{1.5}, {int64_t{2}}};
  const std::vector<Value> two = {{tensor_record(1, {2}, {1})}, {tensor_record(2, {2}, {1})}};
  const auto foreach = build(op_named("_foreach_add", "ScalarList"), {{two}, {scalars}});
  EXPECT_EQ(foreach[0].toTensorVector().size(), 2u);
  EXPECT_EQ(foreach[1].toListRef()[0].toDouble(), 1.5);

  const auto clamp = build(op_named("clamp"), {{tensor_record(1, {2}, {1})}, {}, {true}});
  EXPECT_TRUE(clamp[1].isNone());
  EXPECT_TRUE(clamp[2].isBool());
}

TEST(Materialize, ArgumentsCanBeCalledBoxed) {
  const auto op = op_named("sum", "dim_IntList");
  const std::vector<Value> dims = {{int64_t{0}}};
  auto stack = build(op, {{tensor_record(1, {2, 3}, {3, 1})}, {dims}, {false}, {int64_t{7}}});
  op.callBoxed(&stack);
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(stack[0].toTensor().scalar_type(), at::kDouble);
}

TEST(Materialize, DevicesBecomeTheAskedOne) {
  MaterializeOptions options;
  options.device = c10::Device(c10::DeviceType::Meta);
  const std::vector<Value> sizes = {{int64_t{2}}};
  const auto explicit_device = build(op_named("zeros"), {{sizes}, {}, {}, {std::string("cuda:0")}}, options);
  EXPECT_EQ(explicit_device[3].toDevice(), options.device);
  EXPECT_EQ(build(op_named("zeros"), {{sizes}}, options)[3].toDevice(), options.device);  // a factory left to itself
  const auto like = build(op_named("empty_like"), {{tensor_record(1, {2}, {1})}}, options);
  EXPECT_TRUE(like[3].isNone());  // follows its input
  EXPECT_EQ(like[0].toTensor().device(), options.device);
}

TEST(Materialize, ErrorsNameOperatorArgumentAndCause) {
  const std::string missing = failure_of(op_named("add", "Tensor"), {{tensor_record(1, {2}, {1})}});
  EXPECT_NE(missing.find("aten::add.Tensor, argument 'other': was not recorded"), std::string::npos) << missing;
  const std::string wrong = failure_of(op_named("add", "Tensor"), {{tensor_record(1, {2}, {1})}, {std::string("x")}});
  EXPECT_NE(wrong.find("argument 'other'"), std::string::npos) << wrong;
  const std::string many = failure_of(op_named("abs"), {{tensor_record(1, {2}, {1})}, {int64_t{1}}});
  EXPECT_NE(many.find("2 recorded arguments"), std::string::npos) << many;
}

TEST(Materialize, RefusesMoreThanAGibibyteBeforeAllocating) {
  const std::string one = failure_of(op_named("abs"), {{tensor_record(1, {1 << 30, 1 << 10}, {1 << 10, 1})}});
  EXPECT_NE(one.find("1 GiB"), std::string::npos) << one;
  const std::string two = failure_of(op_named("add", "Tensor"),
                                     {{tensor_record(1, {150'000'000}, {1})}, {tensor_record(2, {150'000'000}, {1})}});
  EXPECT_NE(two.find("1 GiB"), std::string::npos) << two;
}

}  // namespace
}  // namespace flagos::diag
