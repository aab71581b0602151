// Operators that differ from themselves, told from those whose results differ between arms.
#include "verify/verifier.h"

#include <ATen/ATen.h>
#include <ATen/Context.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <map>
#include <random>
#include <string>

#include "flagos/flagos.h"
#include "traces/call_text.h"
#include "verify/nondeterminism_alert.h"
#include "verify/repeated_runs.h"

namespace flagos::diag {
namespace {

constexpr const char* kOneTensor = R"j({"values":[[1,1,0,4,4,"cpu"]],"shapes":[[4]],"types":["Tensor(float)"]})j";
std::string running_arm;  // which the test's operators are called in

// As if atomics had added up in another order, about once in ten calls.
at::Tensor now_and_then(const at::Tensor& self) {
  static std::mt19937 dice(1);  // NOLINT(cert-msc51-cpp): the same in each run
  const at::Tensor result = self + 1;
  return std::bernoulli_distribution(0.1)(dice) ? result * (1 + 0x1p-22) : result;
}

// Right natively; what a race in the library would look like: wrong on flagos every other time.
at::Tensor wrong_at_times(const at::Tensor& self) {
  static int calls = 0;
  return running_arm == "on" && ++calls % 2 == 1 ? self + 2 : self + 1;
}

at::Tensor wrong_always(const at::Tensor& self) { return running_arm == "on" ? self + 2 : self + 1; }

at::Tensor named_by_torch(const at::Tensor& self) {
  at::globalContext().alertNotDeterministic("flagos_verify_kernel");
  return self + 1;
}

class Verification : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    init();
    static torch::Library library(torch::Library::FRAGMENT, "flagos_verify", std::nullopt, __FILE__, __LINE__);
    static torch::Library kernels(torch::Library::IMPL, "flagos_verify", c10::DispatchKey::CPU, __FILE__, __LINE__);
    const auto add = [](const char* name, auto kernel) {
      library.def((std::string(name) + "(Tensor self) -> Tensor").c_str());
      kernels.impl(name, kernel);
    };
    add("now_and_then", now_and_then);
    add("wrong_at_times", wrong_at_times);
    add("wrong_always", wrong_always);
    add("named_by_torch", named_by_torch);
  }

  static Row verify(const std::string& op) {
    Verifier verifier(op, 0, [](const char* arm) { running_arm = arm; });
    return verifier.verify(call_of_text(op, kOneTensor), Variant::kAsRecorded);
  }
};

TEST_F(Verification, AnOperatorThatDiffersFromItselfNowAndThenIsNoFinding) {
  std::map<std::string, int> ends;
  std::string reasons;
  for (int i = 0; i < 60; ++i) {
    const Row found = verify("flagos_verify::now_and_then");
    ++ends[found.at("end").get<std::string>()];
    reasons += found.at("why").is_string() ? found.at("why").get<std::string>() + '\n' : "";
  }
  EXPECT_EQ(ends["different"], 0) << reasons;
  EXPECT_GT(ends["nondeterministic"], 10);
  EXPECT_GT(ends["equal"], 10);
  EXPECT_NE(reasons.find("runs of native deviated"), std::string::npos) << reasons;
  EXPECT_NE(reasons.find("runs of on deviated"), std::string::npos) << reasons;
}

TEST_F(Verification, OneThatIsSteadyNativelyAndNotOnFlagosIsAFinding) {
  const Row found = verify("flagos_verify::wrong_at_times");
  EXPECT_EQ(found.at("end"), "different") << found;
  const auto reason = found.at("rows").at(0).at("reason").get<std::string>();
  EXPECT_NE(reason.find("0 of 209 runs of native deviated, 4 of 9 runs of on deviated"), std::string::npos) << reason;
}

TEST_F(Verification, OneThatIsAlwaysWrongIsAFindingWithoutMoreWords) {
  const Row found = verify("flagos_verify::wrong_always");
  EXPECT_EQ(found.at("end"), "different");
  EXPECT_EQ(found.at("rows").at(0).at("reason"), "output 0: contents, 4 of 4");
}

TEST_F(Verification, WhatTorchNamesNondeterministic) {
  const at::Tensor self = at::ones({2});
  EXPECT_EQ(nondeterminism_alert([&] { named_by_torch(self); }), "flagos_verify_kernel");
  EXPECT_EQ(nondeterminism_alert([&] { self.add(1); }), "");
  EXPECT_EQ(nondeterminism_alert([&] { self.view({3}); }), "");
  EXPECT_FALSE(at::globalContext().deterministicAlgorithms());
  // One of aten's own.
  const at::Tensor target = at::zeros({3});
  EXPECT_EQ(nondeterminism_alert([&] { target.put_(at::tensor({0, 1}), self, /*accumulate=*/false); }), "put_");
}

TEST_F(Verification, ChanceOfOneSide) {
  EXPECT_DOUBLE_EQ(chance_of_one_side(0, 9, 9), 1);
  EXPECT_DOUBLE_EQ(chance_of_one_side(1, 9, 9), 0.5);
  EXPECT_DOUBLE_EQ(chance_of_one_side(2, 2, 2), 1.0 / 6);  // one of the six pairs of four runs
}

}  // namespace
}  // namespace flagos::diag
