#include "cli/operator_names.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "edit_distance.h"

namespace flagos::diag {
namespace {

const std::vector<std::string> kKnown = {"aten::add.Scalar", "aten::add.Tensor", "aten::add_.Tensor",
                                         "aten::addmm",      "aten::mm",         "mylib::scale"};

using Names = std::vector<std::string>;

TEST(OperatorNames, FullOverloadIsItself) {
  EXPECT_EQ(matching_operators("add.Tensor", kKnown), Names({"aten::add.Tensor"}));
  EXPECT_EQ(matching_operators("aten::add.Tensor", kKnown), Names({"aten::add.Tensor"}));
}

TEST(OperatorNames, BareNameIsAllOverloadsAndNothingElse) {
  EXPECT_EQ(matching_operators("add", kKnown), Names({"aten::add.Scalar", "aten::add.Tensor"}));
}

TEST(OperatorNames, Glob) {
  EXPECT_EQ(matching_operators("add_*", kKnown), Names({"aten::add_.Tensor"}));
  EXPECT_EQ(matching_operators("*mm", kKnown), Names({"aten::addmm", "aten::mm"}));
}

TEST(OperatorNames, OtherNamespacesWhenAtenHasNone) {
  EXPECT_EQ(matching_operators("scale", kKnown), Names({"mylib::scale"}));
}

TEST(OperatorNames, UnknownNamesTheNearest) {
  EXPECT_EQ(nearest_names("admm", kKnown, 1), Names({"addmm"}));
  EXPECT_EQ(nearest_names("add.Tensr", kKnown, 1), Names({"add.Tensor"}));
  try {
    select_operators({"admm"}, kKnown);
    FAIL() << "no error";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("addmm"), std::string::npos) << error.what();
  }
}

TEST(OperatorNames, SelectionIsSortedAndWithoutRepeats) {
  EXPECT_EQ(select_operators({"mm", "add.Tensor", "*mm"}, kKnown),
            Names({"aten::add.Tensor", "aten::addmm", "aten::mm"}));
}

TEST(EditDistance, CountsExchangedNeighboursOnce) {
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", "abc"), 0U);
  EXPECT_EQ(edit_distance("relu", "rleu"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

}  // namespace
}  // namespace flagos::diag
