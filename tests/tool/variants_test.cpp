#include "verify/variants.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "prediction/operator_facts.h"

namespace flagos::diag {
namespace {

const c10::FunctionSchema& schema_of(const char* op) { return operator_handle(op).schema(); }

// add(self, other) with `self` in the variant; undefined when it makes no sense.
at::Tensor changed(Variant variant, const at::Tensor& self) {
  Stack arguments = {self, at::ones({}, at::kLong), 1};
  return apply_variant(variant, arguments, schema_of("aten::add.Tensor")) ? arguments[0].toTensor() : at::Tensor();
}

TEST(Variants, NamesAreInverse) {
  for (const Variant variant : kVariants) {
    EXPECT_EQ(variant_of(variant_name(variant)), variant);
  }
  EXPECT_FALSE(variant_of("sideways").has_value());
}

TEST(Variants, LayoutsKeepTheValues) {
  const at::Tensor tensor = at::arange(120, at::kFloat).view({2, 3, 4, 5});
  for (const Variant variant : {Variant::kTransposed, Variant::kOffset, Variant::kChannelsLast}) {
    const at::Tensor made = changed(variant, tensor);
    ASSERT_TRUE(made.defined()) << variant_name(variant);
    EXPECT_TRUE(at::equal(made, tensor)) << variant_name(variant);
    EXPECT_FALSE(made.is_alias_of(tensor)) << variant_name(variant);
  }
  EXPECT_EQ(changed(Variant::kTransposed, tensor).stride(3), 4);
  EXPECT_EQ(changed(Variant::kOffset, tensor).storage_offset(), 3);
  EXPECT_TRUE(changed(Variant::kChannelsLast, tensor).is_contiguous(at::MemoryFormat::ChannelsLast));
}

TEST(Variants, ContiguousIsForWhatWasRecordedOtherwise) {
  const at::Tensor tensor = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_FALSE(changed(Variant::kContiguous, tensor).defined());
  for (const at::Tensor& recorded : {tensor.t(), tensor.narrow(1, 0, 2), tensor[0].expand({2, 3})}) {
    const at::Tensor made = changed(Variant::kContiguous, recorded);
    ASSERT_TRUE(made.defined());
    EXPECT_TRUE(made.is_contiguous());
    EXPECT_TRUE(at::equal(made, recorded));
  }
}

TEST(Variants, Sizes) {
  const at::Tensor tensor = at::arange(6, at::kFloat).view({2, 3});
  EXPECT_EQ(changed(Variant::kEmpty, tensor).sizes(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(changed(Variant::kZeroDim, tensor).dim(), 0);
  EXPECT_EQ(changed(Variant::kExpanded, tensor).stride(0), 0);
  EXPECT_EQ(changed(Variant::kExpanded, tensor).sizes(), tensor.sizes());
}

TEST(Variants, SpecialDataOfEachDtype) {
  for (const auto dtype : {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16}) {
    const at::Tensor made = changed(Variant::kSpecial, at::ones({14}, dtype)).to(at::kDouble);
    EXPECT_TRUE(std::signbit(made[0].item<double>())) << dtype;
    EXPECT_EQ(made[0].item<double>(), 0.0) << dtype;
    EXPECT_TRUE(std::isnan(made[2].item<double>())) << dtype;
    EXPECT_EQ(made[3].item<double>(), INFINITY) << dtype;
    EXPECT_EQ(made[5].item<double>(), -INFINITY) << dtype;
    EXPECT_EQ(made[1].item<double>(), 1.0) << dtype;
  }
}

TEST(Variants, SpecialLeavesTheOriginalAlone) {
  const at::Tensor tensor = at::ones({4});
  (void)changed(Variant::kSpecial, tensor);
  EXPECT_TRUE(at::equal(tensor, at::ones({4})));
}

TEST(Variants, Bits) {
  EXPECT_TRUE(changed(Variant::kConj, at::ones({2}, at::kComplexFloat)).is_conj());
  EXPECT_TRUE(changed(Variant::kNeg, at::ones({2})).is_neg());
}

TEST(Variants, NoSense) {
  const at::Tensor integers = at::ones({3}, at::kLong);
  for (const Variant variant : {Variant::kTransposed, Variant::kExpanded, Variant::kChannelsLast, Variant::kSpecial,
                                Variant::kConj, Variant::kNeg}) {
    EXPECT_FALSE(changed(variant, integers).defined()) << variant_name(variant);
  }
}

TEST(Variants, TensorsThatShareAStorageStayAsTheyAre) {
  const at::Tensor tensor = at::ones({2, 3});
  Stack arguments = {tensor, tensor.view({2, 3}), 1};
  EXPECT_FALSE(apply_variant(Variant::kOffset, arguments, schema_of("aten::add.Tensor")));
}

TEST(Variants, WhatIsWrittenToIsNotExpanded) {
  Stack arguments = {at::ones({2, 3}), at::ones({2, 3}), 1};
  ASSERT_TRUE(apply_variant(Variant::kExpanded, arguments, schema_of("aten::add_.Tensor")));
  EXPECT_EQ(arguments[0].toTensor().stride(0), 3);
  EXPECT_EQ(arguments[1].toTensor().stride(0), 0);
}

}  // namespace
}  // namespace flagos::diag
