// What is claimed of a ratio, and what a user calls a regression.
#include "measure/verdict.h"

#include <gtest/gtest.h>

#include "cli/exit_code.h"
#include "measure/fail_on.h"

namespace flagos::diag {
namespace {

constexpr double kSameWithin = 0.01;

Claim claim(double ratio, double low, double high, double p, double floor = 0.002) {
  return claim_of({ratio, {low, high}, p}, floor, kSameWithin);
}

TEST(Verdict, NeedsIntervalSignificanceAndMoreThanTheNoise) {
  EXPECT_EQ(claim(1.05, 1.03, 1.07, 0.001), Claim::kSlower);
  EXPECT_EQ(claim(0.95, 0.93, 0.97, 0.001), Claim::kFaster);
  EXPECT_EQ(claim(1.05, 0.99, 1.07, 0.001), Claim::kInconclusive) << "the interval contains 1";
  EXPECT_EQ(claim(1.05, 1.03, 1.07, 0.05), Claim::kInconclusive) << "not significant";
  EXPECT_EQ(claim(1.05, 1.03, 1.07, 0.001, 0.06), Claim::kInconclusive) << "below the noise floor";
  EXPECT_EQ(claim(0.95, 0.93, 0.97, 0.001, 0.06), Claim::kInconclusive) << "below the noise floor";
}

TEST(Verdict, SameNeedsTheWholeIntervalWithinTheThreshold) {
  EXPECT_EQ(claim(1.0, 0.995, 1.005, 0.5), Claim::kSame);
  EXPECT_EQ(claim(1.004, 1.002, 1.006, 0.0001), Claim::kSame) << "certain, but too small to act on";
  EXPECT_EQ(claim(1.0, 0.995, 1.011, 0.5), Claim::kInconclusive);
  EXPECT_EQ(claim(1.0, 0.989, 1.005, 0.5), Claim::kInconclusive);
}

TEST(FailOn, ReadsArmsAndPercent) {
  const FailOn plain = FailOn::parse("slower>2%");
  EXPECT_TRUE(plain.met_by("on", "off", "SLOWER", 1.021));
  EXPECT_FALSE(plain.met_by("on", "off", "SLOWER", 1.019));
  EXPECT_FALSE(plain.met_by("on", "off", "INCONCLUSIVE", 1.5));
  EXPECT_FALSE(plain.met_by("on", "native", "SLOWER", 1.5));
  EXPECT_TRUE(FailOn::parse("on/native:slower>0.5%").met_by("on", "native", "SLOWER", 1.006));
}

TEST(FailOn, TheBaselineIsAnotherCounterpart) {
  EXPECT_TRUE(FailOn::parse("slower>2%").met_by("on", kBaseline, "SLOWER", 1.03));
  EXPECT_FALSE(FailOn::parse("slower>2%").met_by("native", kBaseline, "SLOWER", 1.03)) << "that is the machine";
  const FailOn off = FailOn::parse("off/baseline:slower>5%");
  EXPECT_TRUE(off.met_by("off", kBaseline, "SLOWER", 1.06));
  EXPECT_FALSE(off.met_by("off", "native", "SLOWER", 1.06));
  EXPECT_THROW(FailOn::parse("aa/baseline:slower>5%"), UsageError);
}

TEST(FailOn, RefusesOtherFormsAndShowsTheRightOne) {
  for (const char* text : {"", "slower", "slower>2", "faster>2%", "slower>-1%", "on/cpu:slower>2%", "slower>2%x"}) {
    try {
      FailOn::parse(text);
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("'slower>2%'"), std::string::npos) << text;
    }
  }
}

}  // namespace
}  // namespace flagos::diag
