// The time of a run, shared between its cases.
#include "measure/time_share.h"

#include <gtest/gtest.h>

#include <thread>

namespace flagos::diag {
namespace {

constexpr double kTolerance = 0.05;  // seconds: a slow machine between two statements

TEST(TimeShare, WhatEarlyCasesLeaveGoesToTheOthers) {
  TimeShare time(8, 4);
  EXPECT_NEAR(time.next(1).value(), 2.0, kTolerance);
  EXPECT_NEAR(time.next(1).value(), 8.0 / 3, kTolerance) << "the first one took no time";
  EXPECT_NEAR(time.next(2).value(), 4.0, kTolerance) << "two cases that begin together";
}

TEST(TimeShare, NoShareIsTooSmallToClaimAnything) {
  TimeShare time(1, 1000);
  EXPECT_EQ(time.next(1).value(), kLeastShare);
  TimeShare shorter(0.05, 1000);
  EXPECT_EQ(shorter.next(1).value(), 0.05) << "not more than was asked for";
}

TEST(TimeShare, OneCaseDoesNotGetAllThatIsLeft) {
  TimeShare time(300, 100);
  time.next(99);
  EXPECT_EQ(time.next(1).value(), 10.0);
  EXPECT_NEAR(TimeShare(60, 1).next(1).value(), 60.0, kTolerance) << "unless it is the only one";
}

TEST(TimeShare, EndsWhenTheTimeIsSpentButNotBeforeTheFirst) {
  TimeShare time(0.01, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(time.next(1).has_value());
  EXPECT_FALSE(time.next(1).has_value());
}

TEST(TimeShare, TheDefaultIsEnoughForEveryCase) {
  EXPECT_EQ(TimeShare::default_budget(1), 10);
  EXPECT_EQ(TimeShare::default_budget(100), 300);
  EXPECT_GE(TimeShare::default_budget(2510), 2510 * kLeastShare);
}

}  // namespace
}  // namespace flagos::diag
