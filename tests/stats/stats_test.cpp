// Counters of calls, hits and refusals, and what kind of kernel an operator has.
#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>

#include <thread>

#include "counted_call.h"
#include "flagos/stats.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::counted_by;
using testing::host;
using testing::iota;

TEST(Counters, HitsOfPlainCallsAndOfEndedThreads) {
  const at::Tensor x = iota(3);
  const OpStats counted = counted_by("aten::mul.Tensor", [&] {
    x* x;
    std::thread([&] { x* x; }).join();
  });
  EXPECT_EQ(counted.calls, 2U);
  EXPECT_EQ(counted.hits, 2U);
}

TEST(Counters, HitsInTraining) {
  at::Tensor x = iota(3).requires_grad_();
  const OpStats counted = counted_by("mul.Tensor", [&] { (x * x).sum().backward(); });
  EXPECT_GE(counted.hits, 1U);
  EXPECT_EQ(counted.hits, counted.calls);
  EXPECT_TRUE(at::equal(host(x.grad()), at::arange(3, at::kFloat) * 2));
}

TEST(Counters, ConjugatedArgumentNeverHitsWithTheBit) {
  const at::Tensor z = at::complex(iota(3), iota(3));
  const at::Tensor reference = at::complex(at::arange(3, at::kFloat), at::arange(3, at::kFloat));
  EXPECT_TRUE(at::equal(host(z.conj() + 1), reference.conj() + 1));
  // Redispatched past the Conjugate key, the kernel itself receives the bit and must take the full dispatch.
  const auto add = c10::Dispatcher::singleton().findSchemaOrThrow("aten::add", "Tensor");
  const at::AutoDispatchBelowADInplaceOrView below_autograd;
  const OpStats counted = counted_by("add.Tensor", [&] {
    torch::jit::Stack stack{z.conj(), z, c10::Scalar(1)};
    add.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), &stack);
    EXPECT_TRUE(at::equal(host(stack.at(0).toTensor()), reference.conj() + reference));
  });
  EXPECT_EQ(counted.refused.at(static_cast<size_t>(Reason::kConj)), 1U);
  EXPECT_EQ(counted.hits, 0U);
}

TEST(Counters, UnknownOperatorCountsNothing) {
  EXPECT_EQ(op_stats("no_such_op").calls, 0U);
  EXPECT_EQ(kernel_kind("no_such_op"), KernelKind::kNone);
  EXPECT_EQ(kernel_kind("add.Tensor"), KernelKind::kBoxed);
  EXPECT_EQ(kernel_kind("aten::view"), KernelKind::kView);
  EXPECT_EQ(kernel_kind("transpose.int"), KernelKind::kView);
  EXPECT_EQ(kernel_kind("matmul"), KernelKind::kComposite);
}

}  // namespace
}  // namespace flagos
