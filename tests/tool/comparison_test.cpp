#include "verify/comparison.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace flagos::diag {
namespace {

// A call that returned a view of its first argument, which it also wrote to.
CallOutcome outcome() {
  CallOutcome made;
  made.inputs = {at::arange(6, at::kFloat).view({2, 3}), at::ones({3})};
  made.version_steps = {1, 0};
  made.outputs = {made.inputs[0].t(), at::full({2}, 0.5)};
  made.values = {"7"};
  return made;
}

std::string reason(const CallOutcome& a, const CallOutcome& b, Contents contents = Contents::kCompared) {
  const auto found = compare_outcomes(a, b, contents);
  return found.has_value() ? found->reason : "";
}

template <class Bits>
void flip(const at::Tensor& tensor, int64_t index, Bits mask) {
  static_cast<Bits*>(tensor.mutable_data_ptr())[index] ^= mask;
}

at::Tensor with_bits(uint32_t bits) {
  at::Tensor made = at::zeros({2, 2});
  std::memcpy(static_cast<char*>(made.mutable_data_ptr()) + 8, &bits, sizeof(bits));
  return made;
}

TEST(Comparison, EqualOutcomes) { EXPECT_EQ(reason(outcome(), outcome()), ""); }

TEST(Comparison, OneBit) {
  const CallOutcome other = outcome();
  flip<uint32_t>(other.outputs[1], 1, 1);
  const auto found = compare_outcomes(outcome(), other, Contents::kCompared);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->reason, "output 1: contents, 1 of 2");
  EXPECT_EQ(found->first_diff, "[1]: 0x3f000000 (0.5) against 0x3f000001 (0.5000000596046448)");
  EXPECT_GT(found->max_abs_diff.value(), 0.0);
  EXPECT_EQ(reason(outcome(), other, Contents::kIgnored), "");
}

TEST(Comparison, EveryElementSize) {
  for (const auto dtype : {at::kByte, at::kBool, at::kHalf, at::kInt, at::kDouble, at::kComplexFloat,
                           at::kComplexDouble, at::kComplexHalf}) {
    const at::Tensor a = at::zeros({3}, dtype);
    const at::Tensor b = a.clone();
    EXPECT_FALSE(compare_tensors("t", a, b, Contents::kCompared).has_value()) << dtype;
    flip<uint8_t>(b, static_cast<int64_t>(b.nbytes()) - 1, 1);
    EXPECT_TRUE(compare_tensors("t", a, b, Contents::kCompared).has_value()) << dtype;
  }
}

TEST(Comparison, AnElementOfTwoPiecesCountsOnce) {
  const at::Tensor a = at::zeros({2, 2}, at::kComplexDouble);
  const at::Tensor b = a.clone();
  at::view_as_real(b)[1][0].fill_(-0.5);
  const auto both = compare_tensors("t", a, b, Contents::kCompared);
  ASSERT_TRUE(both.has_value());
  EXPECT_EQ(both->reason, "t: contents, 1 of 4");
  EXPECT_EQ(both->first_diff, "[1,0]: 0x0000000000000000 (0+0j) against 0xbfe0000000000000 (-0.5-0.5j)");
  at::view_as_real(b)[1][0][0] = 0;  // the piece that differs is the second
  const auto imaginary = compare_tensors("t", a.t(), b.t(), Contents::kCompared);
  ASSERT_TRUE(imaginary.has_value());
  EXPECT_EQ(imaginary->first_diff, "[0,1]: 0x0000000000000000 (0+0j) against 0xbfe0000000000000 (0-0.5j)");
}

TEST(Comparison, NanPayloadsAndSignsOfZerosCount) {
  const auto payload = compare_tensors("t", with_bits(0x7fc00000), with_bits(0x7fc00001), Contents::kCompared);
  ASSERT_TRUE(payload.has_value());
  EXPECT_EQ(payload->first_diff, "[1,0]: 0x7fc00000 (nan) against 0x7fc00001 (nan)");
  EXPECT_EQ(payload->max_abs_diff, 0.0);  // of the other elements
  EXPECT_FALSE(compare_tensors("t", with_bits(0x7fc00001), with_bits(0x7fc00001), Contents::kCompared).has_value());
  EXPECT_TRUE(compare_tensors("t", with_bits(0), with_bits(0x80000000), Contents::kCompared).has_value());
}

TEST(Comparison, Layout) {
  const at::Tensor tensor = at::zeros({2, 2});
  const auto against = [&](const at::Tensor& other) {
    const auto found = compare_tensors("t", tensor, other, Contents::kCompared);
    return found.has_value() ? found->reason : "";
  };
  EXPECT_EQ(against(tensor.t()), "t: strides [2, 1] against [1, 2]");
  EXPECT_EQ(against(tensor.view({4})), "t: shape [2, 2] against [4]");
  EXPECT_EQ(against(at::zeros({6}).narrow(0, 2, 4).view({2, 2})), "t: storage offset 0 against 2");
  EXPECT_EQ(against(tensor.to(at::kInt)), "t: dtype Float against Int");
  EXPECT_EQ(against(at::_neg_view(tensor)), "t: neg bit false against true");
  EXPECT_EQ(against(tensor.to_sparse()), "t: layout Strided against Sparse");
  EXPECT_EQ(against({}), "t: defined: true against false");
}

TEST(Comparison, SparseParts) {
  const at::Tensor sparse = at::eye(3).to_sparse();
  EXPECT_FALSE(compare_tensors("t", sparse, sparse.clone(), Contents::kCompared).has_value());
  EXPECT_TRUE(compare_tensors("t", sparse, sparse * 2, Contents::kCompared).has_value());
}

TEST(Comparison, LostAlias) {
  CallOutcome other = outcome();
  other.outputs[0] = at::arange(6, at::kFloat).view({2, 3}).t();
  EXPECT_EQ(reason(outcome(), other), "output 0: alias: shares the storage of argument 0 against no alias");
  other.outputs[0] = other.inputs[0];
  CallOutcome same = outcome();
  same.outputs[0] = same.inputs[0].view({2, 3});
  EXPECT_EQ(reason(other, same), "output 0: alias: is argument 0 against shares the storage of argument 0");
}

TEST(Comparison, AliasOfAnotherOutput) {
  CallOutcome other = outcome();
  CallOutcome twice = outcome();
  other.outputs.push_back(other.outputs[1].clone());
  twice.outputs.push_back(twice.outputs[1]);
  EXPECT_EQ(reason(other, twice), "output 2: alias: no alias against is output 1");
}

TEST(Comparison, VersionCounterOfAMutatedArgument) {
  CallOutcome other = outcome();
  other.version_steps[0] = 2;
  EXPECT_EQ(reason(outcome(), other), "argument 0: version counter + 1 against 2");
}

TEST(Comparison, ContentsOfAnArgument) {
  const CallOutcome other = outcome();
  flip<uint32_t>(other.inputs[1], 2, 1U << 31);
  EXPECT_EQ(reason(outcome(), other), "argument 1: contents, 1 of 3");
}

TEST(Comparison, ValuesAndNumbersOfOutputs) {
  CallOutcome other = outcome();
  other.values = {"8"};
  EXPECT_EQ(reason(outcome(), other), "value 0: is 7 against 8");
  other = outcome();
  other.outputs.pop_back();
  EXPECT_EQ(reason(outcome(), other), "outputs: number 2 against 1");
}

TEST(Comparison, ErrorText) {
  CallOutcome a;
  CallOutcome b;
  a.error = "text";
  b.error = a.error;
  EXPECT_EQ(reason(a, b), "");
  EXPECT_EQ(reason(a, outcome()), "error: text: text against none");
}

TEST(Comparison, Rounding) {
  const at::Tensor a = at::full({4}, 100.0F);
  const auto differs_by = [&](double distance) {
    at::Tensor b = a.clone();
    b[2] += distance;
    return compare_tensors("t", a, b, Contents::kCompared).value();
  };
  EXPECT_TRUE(differs_by(1e-4).rounding);
  EXPECT_FALSE(differs_by(1e-2).rounding);
  EXPECT_FALSE(differs_by(INFINITY).rounding);
  EXPECT_FALSE(differs_by(NAN).rounding);
  EXPECT_FALSE(
      compare_tensors("t", at::ones({2}, at::kLong), at::zeros({2}, at::kLong), Contents::kCompared)->rounding);
}

}  // namespace
}  // namespace flagos::diag
