#include "cuda/kernel_sequence.h"

#include <gtest/gtest.h>

namespace flagos::diag {
namespace {

TEST(KernelSequence, EqualSequences) {
  EXPECT_FALSE(first_other_kernel({}, {}).has_value());
  EXPECT_FALSE(first_other_kernel({"gemm", "copy"}, {"gemm", "copy"}).has_value());
}

TEST(KernelSequence, TheFirstThatIsAnotherIsNamed) {
  EXPECT_EQ(first_other_kernel({"gemm", "copy", "add"}, {"gemm", "fill", "mul"}), "kernel 1: copy against fill");
  EXPECT_EQ(first_other_kernel({"gemm"}, {"gemm", "copy"}), "kernel 1: nothing against copy");
  EXPECT_EQ(first_other_kernel({"gemm"}, {}), "kernel 0: gemm against nothing");
}

TEST(KernelSequence, LongNamesAreCutAndSayWhereTheyPart) {
  const std::string alike(300, 'x');
  const std::string found = first_other_kernel({alike + "float"}, {alike + "double"}).value();
  EXPECT_NE(found.find("they part at 'float' against 'double'"), std::string::npos) << found;
  EXPECT_LT(found.size(), 2 * alike.size());
  // Those that part early need no more than the names.
  EXPECT_EQ(first_other_kernel({"a" + alike}, {"b" + alike})->find("they part"), std::string::npos);
}

TEST(KernelSequence, ANameThatIsTheBeginningOfAnother) {
  const std::string name(300, 'x');
  const std::string found = first_other_kernel({name}, {name + "<int>"}).value();
  EXPECT_NE(found.find("they part at '' against '<int>'"), std::string::npos) << found;
}

TEST(KernelSequence, TheOrderIsThatOfTheLaunches) {
  // Of a graph, both nodes have one correlation; the kernel launched last started first, on another stream.
  const std::vector<LaunchRecord> records = {{7, 30, "third"}, {5, 90, "first"}, {7, 20, "second"}, {9, 10, "fourth"}};
  EXPECT_EQ(in_launch_order(records), (KernelSequence{"first", "second", "third", "fourth"}));
}

TEST(KernelSequence, NamesAreDemangled) {
  EXPECT_EQ(in_launch_order({{1, 1, "_ZN2at6native4copyEPfi"}}), KernelSequence{"at::native::copy(float*, int)"});
  EXPECT_EQ(demangled("ampere_sgemm_32x32_nn"), "ampere_sgemm_32x32_nn");
  EXPECT_EQ(demangled("f"), "f");  // which is a mangled type
  EXPECT_EQ(demangled("_Znonsense"), "_Znonsense");
}

}  // namespace
}  // namespace flagos::diag
