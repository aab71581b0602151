// The host's memory runs out at the n-th `new` (or large calloc) of a call, for every n: no crash, nothing left behind.
#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "faults/failing_new.h"
#include "faults/injection.h"
#include "faults/operators.h"
#include "flagos/redispatch.h"
#include "flagos/routes.h"
#include "flagos/stats.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::bound_aliases;
using testing::FaultCase;
using testing::g_faults_injected;
using testing::g_live_news;
using testing::on_flagos;
using testing::script;
using testing::thrown_by;
using testing::tls_fail_large_at;
using testing::tls_fail_new_at;
using Tensors = std::vector<at::Tensor>;

Tensors make(size_t count, at::IntArrayRef sizes) {
  Tensors tensors;
  for (size_t i = 0; i < count; ++i) {
    tensors.push_back(at::full(sizes, static_cast<double>(i), on_flagos()));
  }
  return tensors;
}

// What a call threw when its n-th allocation failed.
template <class Call>
std::string thrown_at(int& countdown, int n, const Call& call) {
  return thrown_by([&] {
    struct Disarm {
      int& countdown;
      ~Disarm() { countdown = 0; }
    } disarm{countdown};
    countdown = n;
    call();
  });
}

// Fails each allocation of `call` in turn; `tensors` must not change. Returns how many of the faults leaked.
template <class Call>
int leaks_of(int& countdown, const Tensors& tensors, const Call& call) {
  int leaks = 0;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(thrown_by([&] { call(tensors); }), "");  // caches are filled
  }
  const auto versions = testing::versions_of(tensors);
  const testing::State before = testing::state_of(tensors, versions);
  bool failed = true;
  for (int n = 1; failed && n < 1000 && !::testing::Test::HasFatalFailure(); ++n) {
    SCOPED_TRACE("allocation " + std::to_string(n));
    const int64_t live = g_live_news;
    std::string error = thrown_at(countdown, n, [&] { call(tensors); });
    failed = !error.empty();
    EXPECT_TRUE(!failed || error == "bad_alloc" || error.starts_with("Error: ")) << error;
    error = std::string();
    leaks += g_live_news > live ? 1 : 0;
    EXPECT_EQ(bound_aliases(), 0U);
    EXPECT_EQ(testing::state_of(tensors, versions), before);
    EXPECT_EQ(thrown_by([&] { call(tensors); }), "") << "the next call works";
    g_faults_injected += failed ? 1 : 0;
  }
  EXPECT_FALSE(failed) << "the fault is never past the call";
  return leaks;
}

// The target's own kernels may leak; boxing must not add to it.
template <class Call>
void fail_each(int& countdown, const Tensors& tensors, const Call& call) {
  Tensors natives;
  for (const at::Tensor& tensor : tensors) {
    natives.push_back(tensor.cpu());
  }
  const int native = leaks_of(countdown, natives, call);
  EXPECT_LE(leaks_of(countdown, tensors, call), native) << "faults that leaked";
}

void fail_each_custom(int& countdown, at::IntArrayRef sizes) {
  for (const FaultCase& op : testing::fault_cases()) {
    for (const bool fast : {true, false}) {
      const RedispatchGuard guard(fast);
      const at::AutoDispatchBelowADInplaceOrView below;
      const Tensors tensors = make(op.tensors, sizes);
      script() = {};
      SCOPED_TRACE(op.name + (fast ? ", on" : ", off"));
      fail_each(countdown, tensors, [&](const Tensors& x) { op.call(x); });
      fail_each(countdown, tensors, [&](const Tensors& x) {
        torch::jit::Stack stack = op.stack(x);
        op.handle().callBoxed(stack);
      });
    }
  }
}

TEST(NewTest, EveryNewOfACustomOperatorFails) { fail_each_custom(tls_fail_new_at, {2, 3}); }

TEST(NewTest, EveryNewWithManyDimensionsFails) { fail_each_custom(tls_fail_new_at, {1, 2, 1, 2, 1, 2, 1}); }

TEST(NewTest, EveryNewOfRealOperatorsFails) {
  at::set_num_threads(1);
  for (const bool fast : {true, false}) {
    const RedispatchGuard guard(fast);
    const Tensors all = make(12, {3, 3});
    SCOPED_TRACE(fast ? "on" : "off");
    {
      SCOPED_TRACE("x[0] + x[1]");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { x[0] + x[1]; });
    }
    {
      SCOPED_TRACE("at::cat(x)");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { at::cat(x); });
    }
    {
      SCOPED_TRACE("at::_foreach_add(x, 1)");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { at::_foreach_add(x, 1); });
    }
    {
      SCOPED_TRACE("x[0].sum({0})");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { x[0].sum({0}); });
    }
    {
      SCOPED_TRACE("x[0].index({x[1].gt(0)})");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { x[0].index({x[1].gt(0)}); });
    }
    {
      SCOPED_TRACE("at::std_mean(x[0], at::IntArrayRef{0})");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { at::std_mean(x[0], at::IntArrayRef{0}); });
    }
    {
      SCOPED_TRACE("at::complex(x[0], x[1]).conj() + 1");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { at::complex(x[0], x[1]).conj() + 1; });
    }
    {
      SCOPED_TRACE("x[0].to_sparse()");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { x[0].to_sparse(); });
    }
    {
      SCOPED_TRACE("x[0].to(at::kDouble).cpu()");
      fail_each(tls_fail_new_at, all, [&](const Tensors& x) { x[0].to(at::kDouble).cpu(); });
    }
  }
}

// A thread's first call, and its first of many aliases, at which everything the thread keeps is made.
template <class Arm>
void fail_first_calls(const Arm& arm) {
  const Tensors x = make(40, {3});
  bool failed = true;
  uint64_t calls = op_stats("_foreach_add.Scalar").calls;
  for (int n = 1; failed && !::testing::Test::HasFailure(); ++n) {
    std::thread([&] {
      std::string error;
      {
        error = arm(n, [&] { at::_foreach_add(x, 1); });
        failed = !error.empty();
        g_faults_injected += failed ? 1 : 0;
        EXPECT_TRUE(!failed || error == "bad_alloc" || error.starts_with("Error: ")) << error;
      }
      EXPECT_TRUE(at::equal(at::_foreach_add(x, 1)[7].cpu(), at::full({3}, 8))) << "the next call works";
      EXPECT_EQ(bound_aliases(), 0U);
    }).join();
    const uint64_t now = op_stats("_foreach_add.Scalar").calls;
    EXPECT_GE(now, calls + 1) << "the counters of a thread that ended are kept";
    calls = now;
    ASSERT_LT(n, 2000);
  }
}

TEST(NewTest, EveryNewOfAThreadsFirstCallFails) {
  fail_first_calls([](int n, const auto& call) { return thrown_at(tls_fail_new_at, n, call); });
}

TEST(NewTest, AThreadThatEndsLeavesNothing) {
  const Tensors x = make(40, {3});
  const auto call = [&] { std::thread([&] { at::_foreach_add(x, 1); }).join(); };
  call();  // makes what the process keeps
  const int64_t before = g_live_news.load();
  for (int i = 0; i < 10; ++i) {
    call();
  }
  EXPECT_EQ(g_live_news.load(), before);
}

TEST(NewTest, AnArgumentThatWasKeptLeavesNothing) {
  const FaultCase& op = testing::fault_cases().front();
  const Tensors x = make(1, {3});
  const auto call = [&] {
    Tensors kept;
    script() = {-1, [&](at::Tensor& each, bool /*mutated*/) { kept.push_back(each); }, 0};
    op.call(x);
    script() = {};
    EXPECT_EQ(kept.size(), 1U);
  };
  std::thread([&] {  // whose pool is empty: a kept alias leaves it
    call();
    const int64_t before = g_live_news.load();
    for (int i = 0; i < 10; ++i) {
      call();
    }
    EXPECT_EQ(g_live_news.load(), before);
  })
      .join();
}

TEST(NewTest, ARouteThatWasUndoneLeavesNothing) {
  const auto change = [] {
    set_route("add.Tensor", "cpu");
    set_route("add.Tensor", "native");
  };
  change();
  const int64_t before = g_live_news.load();
  for (int i = 0; i < 10; ++i) {
    change();
  }
  EXPECT_EQ(g_live_news.load(), before);
}

#ifdef FLAGOS_TEST_FAILS_CALLOC
// The C library ends the process when its own small ones fail while a thread starts.
TEST(NewTest, EveryLargeCallocOfAThreadsFirstCallFails) {
  const uint64_t before = g_faults_injected;
  fail_first_calls([](int n, const auto& call) { return thrown_at(tls_fail_large_at, n, call); });
  EXPECT_GE(g_faults_injected - before, 3U) << "a thread's counters";
}
#endif

}  // namespace
}  // namespace flagos
