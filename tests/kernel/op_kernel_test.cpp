// Whole calls: write-back of mutated arguments, identity of results, each argument type.
#include "kernel/op_kernel.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "boxing/custom_operator.h"
#include "flagos/flagos.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::CustomOperator;
using testing::host;
using testing::iota;
using testing::on_flagos;
using testing::register_custom_operator;

// --- write-back --------------------------------------------------------------------------------------------------
TEST(WriteBack, SetSource) {
  at::Tensor x = at::zeros({2}, on_flagos());
  const at::Tensor y = iota(6).view({2, 3});
  EXPECT_TRUE(x.set_(y).is_same(x));
  EXPECT_EQ(x.sizes(), y.sizes());
  EXPECT_TRUE(x.is_alias_of(y));
  EXPECT_EQ(x.device(), y.device());
  EXPECT_TRUE(at::equal(host(x), host(y)));
}

TEST(WriteBack, SetStorageWithOffset) {
  at::Tensor x = at::zeros({2}, on_flagos());
  const at::Tensor y = iota(6);
  x.set_(y.storage(), 2, {2, 2}, {1, 2});
  EXPECT_EQ(x.storage_offset(), 2);
  EXPECT_TRUE(at::equal(host(x), at::arange(6, at::kFloat).as_strided({2, 2}, {1, 2}, 2)));
}

TEST(WriteBack, SetWithoutSource) {
  at::Tensor x = iota(4);
  x.set_();
  EXPECT_EQ(x.numel(), 0);
  EXPECT_EQ(x.device().type(), at::kPrivateUse1);
}

TEST(WriteBack, ResizeKeepsDataAndIdentity) {
  at::Tensor x = iota(4);
  const at::Tensor same = x;
  x.resize_({2, 3});
  EXPECT_EQ(same.sizes(), at::IntArrayRef({2, 3}));
  EXPECT_TRUE(at::equal(host(x).view({-1}).slice(0, 0, 4), at::arange(4, at::kFloat)));
  EXPECT_GE(x.storage().nbytes(), 6 * sizeof(float));
}

TEST(WriteBack, ResizeAsAndMemoryFormat) {
  at::Tensor x = iota(4);
  const at::Tensor like = at::zeros({1, 2, 3, 4}, on_flagos()).contiguous(at::MemoryFormat::ChannelsLast);
  x.resize_as_(like, at::MemoryFormat::ChannelsLast);
  EXPECT_EQ(x.sizes(), like.sizes());
  EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(WriteBack, OutIsResized) {
  at::Tensor out = at::empty({0}, on_flagos());
  const at::Tensor a = iota(6).view({2, 3});
  EXPECT_TRUE(at::add_out(out, a, a).is_same(out));
  EXPECT_TRUE(at::equal(host(out), host(a) * 2));
}

TEST(WriteBack, StridedOutKeepsStrideAndGaps) {
  at::Tensor base = at::full({6}, -1.F, on_flagos());
  at::Tensor out = base.slice(0, 0, 6, 2);
  at::add_out(out, iota(3), iota(3));
  EXPECT_EQ(out.strides(), at::IntArrayRef({2}));
  EXPECT_TRUE(at::equal(host(base), at::tensor({0.F, -1.F, 2.F, -1.F, 4.F, -1.F})));
}

TEST(WriteBack, SeveralOuts) {
  at::Tensor values = at::empty({0}, on_flagos());
  at::Tensor indices = at::empty({0}, on_flagos().dtype(at::kLong));
  const at::Tensor x = iota(6).view({2, 3});
  at::max_out(values, indices, x, 1);
  EXPECT_TRUE(at::equal(host(values), at::tensor({2.F, 5.F})));
  EXPECT_TRUE(at::equal(host(indices), at::tensor({2, 2}, at::kLong)));
}

TEST(WriteBack, VersionCounterAsOnTheTarget) {
  at::Tensor x = iota(3);
  at::Tensor reference = at::arange(3, at::kFloat);
  for (at::Tensor* t : {&x, &reference}) {
    t->add_(1);
    t->mul_(2);
    at::_foreach_add_({*t}, 1);
  }
  EXPECT_EQ(x._version(), reference._version());
}

// --- identity ------------------------------------------------------------------------------------------------------
TEST(Identity, InPlaceReturnsItsArgument) {
  at::Tensor x = iota(3);
  at::Tensor& result = x.add_(1);
  EXPECT_EQ(&result, &x);
}

TEST(Identity, SameTensorAsInputAndOut) {
  at::Tensor x = iota(4);
  at::add_out(x, x, x);
  EXPECT_TRUE(at::equal(host(x), at::arange(4, at::kFloat) * 2));
}

TEST(Identity, ContiguousOfAContiguousTensorIsTheTensor) {
  const at::Tensor x = iota(4);
  EXPECT_TRUE(x.contiguous().is_same(x));
  EXPECT_TRUE(x.to(x.device()).is_same(x));
}

// --- argument types -------------------------------------------------------------------------------------------------
TEST(ArgumentTypes, ListOfThreeHundred) {
  std::vector<at::Tensor> list;
  std::vector<at::Tensor> reference;
  for (int i = 0; i < 300; ++i) {
    reference.push_back(at::full({2}, i, at::kFloat));
    list.push_back(reference.back().to(at::Device(at::kPrivateUse1, 0)));
  }
  list.push_back(list.front());  // one tensor twice
  reference.push_back(reference.front());
  EXPECT_TRUE(at::equal(host(at::cat(list)), at::cat(reference)));
  EXPECT_TRUE(at::equal(host(at::stack(list)), at::stack(reference)));
  at::_foreach_add_(list, 1);
  at::_foreach_add_(reference, 1);
  EXPECT_TRUE(at::equal(host(at::cat(list)), at::cat(reference)));
}

TEST(ArgumentTypes, EmptyListAndUndefinedTensor) {
  EXPECT_THROW(at::cat(std::vector<at::Tensor>{}), c10::Error);
  const at::Tensor x = at::ones({1, 2, 4, 4}, on_flagos());
  const at::Tensor w = at::ones({3, 2, 1, 1}, on_flagos());
  EXPECT_TRUE(at::equal(host(at::conv2d(x, w)), at::conv2d(host(x), host(w))));  // bias: no tensor
}

TEST(ArgumentTypes, OptionalListWithNone) {
  const at::Tensor x = iota(6).view({2, 3});
  const at::Tensor rows = at::tensor({1, 0}, at::kLong);  // on the CPU
  c10::List<std::optional<at::Tensor>> indices{std::optional<at::Tensor>(), rows};
  c10::List<std::optional<at::Tensor>> on_device{std::optional<at::Tensor>(), rows.to(x.device())};
  const at::Tensor expected = at::index(host(x), indices);
  EXPECT_TRUE(at::equal(host(at::index(x, indices)), expected));
  EXPECT_TRUE(at::equal(host(at::index(x, on_device)), expected));
}

TEST(ArgumentTypes, ScalarResult) {
  EXPECT_EQ(at::ones({1}, on_flagos()).item<float>(), 1.0F);
  EXPECT_TRUE(at::equal(iota(3), iota(3)));
}

TEST(ArgumentTypes, TupleAndVectorResults) {
  const at::Tensor x = iota(6).view({2, 3});
  const auto [values, indices] = at::sort(x, 1, /*descending=*/true);
  EXPECT_EQ(values.device(), x.device());
  EXPECT_EQ(indices.device(), x.device());
  const auto parts = at::_foreach_mul({x, x}, 2);
  EXPECT_EQ(parts.at(1).device(), x.device());
  EXPECT_TRUE(at::equal(host(parts.at(1)), host(x) * 2));
}

TEST(ArgumentTypes, GeneratorIsTheTargets) {
  auto generator = at::globalContext().defaultGenerator(at::Device(at::kPrivateUse1, 0));
  generator.set_current_seed(11);
  const at::Tensor a = at::rand({4}, generator, on_flagos());
  generator.set_current_seed(11);
  const at::Tensor b = at::rand({4}, generator, on_flagos());
  EXPECT_TRUE(at::equal(a, b));
  auto targets = at::globalContext().defaultGenerator(at::Device(target_device_type()));
  targets.set_current_seed(11);
  const at::Tensor native = at::rand({4}, targets, at::TensorOptions().device(target_device_type()));
  EXPECT_TRUE(at::equal(host(a), host(native)));
}

TEST(ArgumentTypes, DeviceOfResultsFollowsTheDeviceArgument) {
  const at::Tensor x = iota(3);
  EXPECT_EQ(at::zeros_like(x).device(), x.device());
  EXPECT_EQ(at::zeros_like(x, at::TensorOptions().device(at::kCPU)).device().type(), at::kCPU);
  EXPECT_EQ(x.to(at::kCPU).device().type(), at::kCPU);
  EXPECT_EQ(x.to(at::kDouble).device(), x.device());
}

struct TwoTensors : CustomOperator<TwoTensors, std::tuple<at::Tensor, at::Tensor>(const at::Tensor&,
                                                                                  const std::optional<at::Tensor>&)> {
  static constexpr const char* name = "flagos_test::two";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "two(Tensor x, Tensor? y) -> (Tensor, Tensor)";
  static std::tuple<at::Tensor, at::Tensor> target(const at::Tensor& x, const std::optional<at::Tensor>& y) {
    TORCH_CHECK(x.device().type() == target_device_type());
    TORCH_CHECK(!y.has_value() || !y->defined() || y->device().type() == target_device_type());
    return {x, y.value_or(at::Tensor())};
  }
};

TEST(ArgumentTypes, OptionalTensor) {
  register_custom_operator<TwoTensors>();
  const at::Tensor x = iota(3);
  const at::Tensor y = iota(2);
  EXPECT_TRUE(std::get<1>(TwoTensors::call(x, y)).is_same(y));
  EXPECT_FALSE(std::get<1>(TwoTensors::call(x, std::nullopt)).defined());
  EXPECT_FALSE(std::get<1>(TwoTensors::call(x, at::Tensor())).defined());
}

// --- mixed devices ---------------------------------------------------------------------------------------------------
TEST(Devices, MixedWithABareTargetTensorIsTheUsualError) {
  const at::Tensor x = iota(3);
  const at::Tensor bare = at::ones({3}, at::TensorOptions().device(target_device_type()));
  try {
    static_cast<void>(at::dot(x, bare));
    FAIL() << "no error";
  } catch (const c10::Error& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("Expected all tensors to be on the same device"), std::string::npos) << text;
    EXPECT_NE(text.find("flagos:0"), std::string::npos) << text;
  }
  EXPECT_TRUE(at::equal(host(x + at::scalar_tensor(2)), host(x) + 2)) << "0-d CPU tensors may be mixed";
}

}  // namespace
}  // namespace flagos
