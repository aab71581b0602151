#include "verify/case_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

namespace flagos::diag {
namespace {

CallOutcome with_kernels(float value, std::optional<KernelSequence> kernels) {
  CallOutcome made;
  made.outputs = {at::full({2}, value)};
  made.kernels = std::move(kernels);
  return made;
}

Row row_of(const CallOutcome& native, const CallOutcome& on) {
  return compared({"native", &native}, {"on", &on}, Contents::kCompared);
}

TEST(CaseRows, WithoutRecordedKernelsThereAreNoSuchFields) {
  for (const bool one : {false, true}) {
    const Row row =
        row_of(with_kernels(1, one ? std::optional(KernelSequence{}) : std::nullopt), with_kernels(1, std::nullopt));
    EXPECT_FALSE(row.contains("kernels_equal"));
    EXPECT_TRUE(is_equal(row));
    EXPECT_TRUE(kernel_verdict({row}).is_null());
  }
}

TEST(CaseRows, AnArmThatBrokeTheProcess) {
  const Row native = broken_arm_row("native_again", "the process died: SIGSEGV");
  EXPECT_EQ(native,
            (Row{{"end", "crashed"}, {"why", "native_again arm: the process died: SIGSEGV"}, {"rows", Row::array()}}));
  EXPECT_EQ(broken_arm_row("", "no answer").at("why"), "no arm: no answer");
  const Row ours = broken_arm_row("off", "device-side assert triggered");
  EXPECT_EQ(ours.at("end"), "different");
  EXPECT_EQ(ours.at("rows").at(0).at("arm_b"), "off");
  EXPECT_EQ(ours.at("rows").at(0).at("reason"), "device-side assert triggered");
  EXPECT_FALSE(is_equal(ours.at("rows").at(0)));
}

TEST(CaseRows, SameKernels) {
  const Row row = row_of(with_kernels(1, KernelSequence{"gemm"}), with_kernels(1, KernelSequence{"gemm"}));
  EXPECT_EQ(row.at("kernels_equal"), true);
  EXPECT_TRUE(row.at("reason").is_null());
  EXPECT_TRUE(is_equal(row));
  EXPECT_EQ(kernel_verdict({row}), "equal");
}

TEST(CaseRows, OtherKernelsAreAFindingThoughResultsAreEqual) {
  const Row row = row_of(with_kernels(1, KernelSequence{"gemm"}), with_kernels(1, KernelSequence{"gemm", "copy"}));
  EXPECT_EQ(row.at("equal"), true);
  EXPECT_EQ(row.at("kernels_equal"), false);
  EXPECT_EQ(row.at("reason"), "kernel 1: nothing against copy");
  EXPECT_EQ(row.at("kernels"), Row({{"native", {"gemm"}}, {"on", {"gemm", "copy"}}}));
  EXPECT_FALSE(is_equal(row));
  EXPECT_EQ(kernel_verdict({row_of(with_kernels(1, KernelSequence{"a"}), with_kernels(1, KernelSequence{"a"})), row}),
            "different");
}

TEST(CaseRows, BothReasons) {
  const Row row = row_of(with_kernels(1, KernelSequence{"gemm"}), with_kernels(2, KernelSequence{"fill"}));
  EXPECT_EQ(row.at("reason"), "output 0: contents, 2 of 2; kernel 0: gemm against fill");
  EXPECT_EQ(row.at("max_abs_diff"), 1.0);
  EXPECT_FALSE(is_equal(row));
}

TEST(CaseRows, EmptySequencesStayLists) {
  const Row row = row_of(with_kernels(1, KernelSequence{"gemm"}), with_kernels(1, KernelSequence{}));
  EXPECT_EQ(row.at("kernels").at("on"), Row::array());
  EXPECT_EQ(row.at("kernels").at("native"), Row::array({"gemm"}));
}

}  // namespace
}  // namespace flagos::diag
