// The kill switch: of a thread, of the process, and that results don't depend on it.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <thread>

#include "counted_call.h"
#include "flagos/redispatch.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::counted_by;
using testing::iota;

TEST(KillSwitch, GuardIsPerThreadAndNests) {
  const at::Tensor x = iota(3);
  const auto off_count = [&] {
    return counted_by("add.Tensor", [&] { x + x; }).refused.at(static_cast<size_t>(Reason::kOff));
  };
  EXPECT_EQ(off_count(), 0U);
  {
    const RedispatchGuard off(false);
    EXPECT_FALSE(redispatch_enabled());
    EXPECT_EQ(off_count(), 1U);
    {
      const RedispatchGuard on(true);
      EXPECT_EQ(off_count(), 0U);
    }
    EXPECT_EQ(off_count(), 1U);
    std::thread([] { EXPECT_TRUE(redispatch_enabled()); }).join();
  }
  EXPECT_EQ(off_count(), 0U);
}

TEST(KillSwitch, ProcessWideReachesRunningThreads) {
  set_redispatch_enabled(false);
  EXPECT_FALSE(redispatch_enabled());
  std::thread([] { EXPECT_FALSE(redispatch_enabled()); }).join();
  {
    const RedispatchGuard on(true);
    EXPECT_TRUE(redispatch_enabled());
  }
  set_redispatch_enabled(true);
  EXPECT_TRUE(redispatch_enabled());
}

TEST(KillSwitch, ResultsAreTheSame) {
  const at::Tensor x = iota(12).view({3, 4});
  const at::Tensor on = at::softmax(x, 1);
  const RedispatchGuard off(false);
  EXPECT_TRUE(at::equal(on, at::softmax(x, 1)));
}

}  // namespace
}  // namespace flagos
