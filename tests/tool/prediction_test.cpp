#include "prediction/prediction.h"

#include <gtest/gtest.h>

namespace flagos::diag {
namespace {

using c10::DispatchKey;
using c10::DispatchKeySet;

constexpr const char* kDump =
    "CPU: registered at RegisterCPU_0.cpp:1310 [kernel]\n"
    "PrivateUse1: libflagos [kernel]\n"
    "BackendSelect: fallthrough registered at BackendSelectFallbackKernel.cpp:3 [backend fallback]\n"
    "Python: registered at PythonFallbackKernel.cpp:198 [backend fallback]\n"
    "Conjugate: fallthrough registered at ConjugateFallback.cpp:21 [kernel]\n"
    "Negative: registered at NegateFallback.cpp:18 [backend fallback]\n"
    "ADInplaceOrView: fallthrough registered at VariableFallbackKernel.cpp:103 [backend fallback]\n"
    "AutogradPrivateUse1: registered at VariableType_2.cpp:20416 [autograd kernel]\n"
    "AutogradCPU: registered at VariableType_2.cpp:20416 [autograd kernel]\n";

CallState state_with(std::initializer_list<DispatchKey> more) {
  CallState state;
  state.keys =
      DispatchKeySet({DispatchKey::PrivateUse1, DispatchKey::AutogradPrivateUse1, DispatchKey::ADInplaceOrView});
  for (const DispatchKey key : more) {
    state.keys = state.keys | DispatchKeySet(key);
  }
  return state;
}

TEST(DispatchTable, ReadsTheDispatchersText) {
  const DispatchTable table{std::string_view(kDump)};
  ASSERT_NE(table.at(DispatchKey::CPU), nullptr);
  EXPECT_EQ(table.at(DispatchKey::CPU)->source, "registered at RegisterCPU_0.cpp:1310");
  EXPECT_EQ(table.at(DispatchKey::CPU)->kind, "kernel");
  EXPECT_FALSE(table.at(DispatchKey::Negative)->fallthrough);
  EXPECT_TRUE(table.at(DispatchKey::Conjugate)->fallthrough);
  EXPECT_EQ(table.at(DispatchKey::CUDA), nullptr);
}

TEST(Prediction, PlainCallIsFastBecauseAutogradIsExcludedOnTheWay) {
  EXPECT_EQ(predict(DispatchTable{std::string_view(kDump)}, state_with({})).verdict, Verdict::kFast);
}

TEST(Prediction, AutogradStopsACallThatEntersAtTheKernel) {
  CallState state = state_with({});
  state.entry = Entry::kKernel;
  const Decision decision = predict(DispatchTable{std::string_view(kDump)}, state);
  EXPECT_EQ(decision.reason, Reason::kAutograd);
  EXPECT_EQ(decision.key, DispatchKey::AutogradCPU);
}

TEST(Prediction, BitsStopTheCallUnlessTheOperatorFallsThrough) {
  const DispatchTable table{std::string_view(kDump)};
  EXPECT_EQ(predict(table, state_with({DispatchKey::Conjugate})).verdict, Verdict::kFast);
  const Decision negated = predict(table, state_with({DispatchKey::Negative, DispatchKey::Conjugate}));
  EXPECT_EQ(negated.reason, Reason::kNeg);
  EXPECT_EQ(negated.key, DispatchKey::Negative);
}

TEST(Prediction, ModeOfTheThread) {
  CallState state = state_with({});
  state.included = DispatchKeySet(DispatchKey::Python);
  EXPECT_EQ(predict(DispatchTable{std::string_view(kDump)}, state).reason, Reason::kPython);
}

TEST(Prediction, KillSwitchNamesNoKey) {
  CallState state = state_with({DispatchKey::Negative});
  state.switched_off = true;
  const Decision decision = predict(DispatchTable{std::string_view(kDump)}, state);
  EXPECT_EQ(decision.reason, Reason::kOff);
  EXPECT_EQ(decision.key, DispatchKey::Undefined);
}

TEST(Prediction, ARouteIsBelowTheSwitchAndAboveTheKeys) {
  CallState state = state_with({DispatchKey::Negative});
  state.routed = true;
  EXPECT_EQ(predict(DispatchTable{std::string_view(kDump)}, state).reason, Reason::kRoute);
  state.switched_off = true;
  EXPECT_EQ(predict(DispatchTable{std::string_view(kDump)}, state).reason, Reason::kOff);
}

TEST(Prediction, NoTensorArguments) {
  EXPECT_EQ(predict(DispatchTable{std::string_view(kDump)}, CallState{}).verdict, Verdict::kFast);
}

}  // namespace
}  // namespace flagos::diag
