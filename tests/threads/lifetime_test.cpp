// The ends of things: threads, forked children, the process.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "flagos/flagos.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::host;
using testing::iota;

// Whether calls on flagos give what they should.
bool calls_work() {
  const at::Tensor x = iota(16);
  return at::equal(host(x + x), at::arange(16, at::kFloat) * 2) &&
         at::equal(host(at::cat({x, x})), at::arange(16, at::kFloat).repeat(2));
}

int child_status(pid_t child) {
  int status = -1;
  return waitpid(child, &status, 0) == child ? status : -1;
}

// Statistics and guards take the library's lock: a child forked while another thread held it must not wait for ever.
TEST(Fork, ChildCallsWhileTheParentsThreadsReadStatistics) {
  ASSERT_TRUE(calls_work());
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop.load()) {
        (void)op_stats("add.Tensor");
        const RedispatchGuard off(false);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      const RedispatchGuard off(false);
      const uint64_t before = op_stats("add.Tensor").calls;
      const at::InferenceMode mode;
      const at::Tensor x = iota(3);
      const at::Tensor y = x + x;
      _exit(y.numel() == 3 && op_stats("add.Tensor").calls == before + 1 ? 0 : 1);
    }
    ASSERT_GT(child, 0);
    EXPECT_EQ(child_status(child), 0);
  }
  stop = true;
  for (auto& reader : readers) {
    reader.join();
  }
}

TEST(ThreadEnd, WarmPoolsAreFreedAndCountersKept) {
  const uint64_t before = op_stats("add.Tensor").calls;
  for (int i = 0; i < 100; ++i) {
    std::thread([] {
      const at::Tensor x = iota(4);
      const at::Tensor y = x + x;
      EXPECT_EQ(y.numel(), 4);
    }).join();
  }
  EXPECT_EQ(op_stats("add.Tensor").calls, before + 100);
}

// Its destructor calls operators after the library's own thread-local may have ended.
struct CallsAtTheEnd {
  at::Tensor kept;
  ~CallsAtTheEnd() {
    if (kept.defined()) {
      kept = kept + kept;
    }
  }
};

TEST(ThreadEnd, ThreadLocalsHoldTensorsAndCall) {
  const uint64_t before = op_stats("add.Tensor").calls;
  std::thread([] {
    static thread_local CallsAtTheEnd last;
    last.kept = iota(4);
    last.kept.add_(1);
  }).join();
  EXPECT_EQ(op_stats("add.Tensor").calls, before + 1);
}

using ProcessEndDeathTest = ::testing::Test;

TEST(ProcessEndDeathTest, LiveTensorsInGlobalsAndThreadLocals) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        static at::Tensor global;
        static thread_local at::Tensor local;
        global = iota(8);
        local = (global + global).view({2, 4});
        std::exit(calls_work() ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace flagos
