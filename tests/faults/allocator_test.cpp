// The target's memory runs out at the n-th allocation of a real operator's call, for every n.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "faults/failing_allocator.h"
#include "faults/injection.h"
#include "flagos/redispatch.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::bound_aliases;
using testing::failing;
using testing::FailingAllocator;
using testing::g_faults_injected;
using testing::on_flagos;
using testing::State;
using testing::thrown_by;
using Tensors = std::vector<at::Tensor>;

struct RealCall {
  const char* name;
  // The tensors that the call is given, and the call.
  std::function<Tensors(const at::TensorOptions&)> make;
  std::function<void(const Tensors&)> call;
};

Tensors three(const at::TensorOptions& where) {
  Tensors tensors;
  for (int i = 0; i < 3; ++i) {
    tensors.push_back(at::arange(i, i + 12, where.dtype(at::kFloat)).view({3, 4}));
  }
  return tensors;
}

Tensors leaf(const at::TensorOptions& where) {
  return {at::arange(12, where.dtype(at::kFloat)).view({3, 4}).requires_grad_(), at::ones({3, 4}, where)};
}

const std::vector<RealCall>& real_calls() {
  static const auto* calls = new std::vector<RealCall>{
      {"add", three, [](const Tensors& x) { x[0] + x[1]; }},
      {"add broadcast and promoted", three, [](const Tensors& x) { x[0] + x[1].to(at::kDouble).select(0, 0); }},
      {"add_", three, [](const Tensors& x) { x[0].add_(x[1]); }},
      {"add.out resizes", three,
       [](const Tensors& x) {
         at::Tensor out = x[2];
         out.resize_({0});
         at::add_out(out, x[0], x[1]);
       }},
      {"cat", three,
       [](const Tensors& x) {
         at::cat({x[0], x[1], x[2]}, 1);
       }},
      {"cat.out resizes", three,
       [](const Tensors& x) {
         at::Tensor out = x[2];
         out.resize_({0});
         at::cat_out(out, {x[0], x[1]});
       }},
      {"mm", three, [](const Tensors& x) { x[0].mm(x[1].t()); }},
      {"addmm", three, [](const Tensors& x) { at::addmm(x[0], x[1].mm(x[2].t()), x[2]); }},
      {"matmul of batches", three,
       [](const Tensors& x) {
         at::matmul(x[0].expand({2, 3, 4}), x[1].t());
       }},
      {"sum", three, [](const Tensors& x) { x[0].sum({0}); }},
      {"softmax", three, [](const Tensors& x) { x[0].t().softmax(1); }},
      {"sort", three, [](const Tensors& x) { x[0].sort(1); }},
      {"topk", three, [](const Tensors& x) { x[0].topk(2); }},
      {"index", three, [](const Tensors& x) { x[0].index({x[1].gt(4)}); }},
      {"index_put_", three,
       [](const Tensors& x) {
         at::Tensor y = x[0];
         y.index_put_({x[1].gt(4)}, x[2].flatten()[0]);
       }},
      {"nonzero", three, [](const Tensors& x) { x[0].nonzero(); }},
      {"std_mean", three, [](const Tensors& x) { at::std_mean(x[0], at::IntArrayRef{0}); }},
      {"native_layer_norm", three, [](const Tensors& x) { at::native_layer_norm(x[0], {4}, x[1][0], x[2][0], 1e-5); }},
      {"resize_", three,
       [](const Tensors& x) {
         x[0].resize_({50, 50});
       }},
      {"resize_ to many dimensions", three,
       [](const Tensors& x) {
         x[0].resize_({2, 2, 2, 2, 2, 2, 2});
       }},
      {"set_ and resize_", three,
       [](const Tensors& x) {
         at::Tensor y = x[0];
         y.set_(x[1]).resize_({9, 9});
       }},
      {"_foreach_add", three, [](const Tensors& x) { at::_foreach_add(x, 1); }},
      {"_foreach_add_", three, [](const Tensors& x) { at::_foreach_add_(x, x); }},
      {"_foreach_addcmul_", three, [](const Tensors& x) { at::_foreach_addcmul_(x, x, x, 2); }},
      {"_foreach_norm", three, [](const Tensors& x) { at::_foreach_norm(x); }},
      {"copy_ of another dtype", three,
       [](const Tensors& x) {
         at::Tensor y = x[0];
         y.t().copy_(x[1].to(at::kDouble).t());
       }},
      {"to double", three, [](const Tensors& x) { x[0].to(at::kDouble); }},
      {"contiguous", three, [](const Tensors& x) { x[0].t().contiguous(); }},
      {"conj of complex", three, [](const Tensors& x) { at::complex(x[0], x[1]).conj() + 1; }},
      {"factories", three,
       [](const Tensors& x) {
         at::ones({4}, x[0].options());
         at::arange(9, x[0].options());
         at::rand_like(x[0]);
         at::eye(3, x[0].options());
       }},
      {"to_sparse", three, [](const Tensors& x) { x[0].to_sparse(); }},
      {"backward", leaf, [](const Tensors& x) { (x[0] * x[1]).exp().sum().backward(); }},
      {"backward of mm and softmax", leaf,
       [](const Tensors& x) { x[0].mm(x[1].t()).softmax(1).pow(2).sum().backward(); }},
  };
  return *calls;
}

struct Outcome {
  std::string error;
  State before;
  State after;
  int64_t live = 0;
  std::string grad;
};

class AllocatorTest : public ::testing::Test {
 protected:
  void SetUp() override {
    failing();
    at::set_num_threads(1);
  }
  void TearDown() override {
    failing().fail_at = 0;
    EXPECT_EQ(bound_aliases(), 0U);
  }

  static Outcome run(const RealCall& real, const at::TensorOptions& where, int fail_at) {
    Outcome outcome;
    const int64_t live = FailingAllocator::live();
    {
      const Tensors tensors = real.make(where);
      const auto versions = testing::versions_of(tensors);
      outcome.before = testing::state_of(tensors, versions);
      failing().fail_at = fail_at;
      outcome.error = thrown_by([&] { real.call(tensors); });
      failing().fail_at = 0;
      outcome.after = testing::state_of(tensors, versions);
      outcome.grad = tensors[0].grad().defined() ? shown(testing::state_of({tensors[0].grad()}, {0})) : "none";
      EXPECT_EQ(bound_aliases(), 0U);
    }
    outcome.live = FailingAllocator::live() - live;
    return outcome;
  }
};

TEST_F(AllocatorTest, EveryAllocationOfEveryCallFails) {
  for (const RealCall& real : real_calls()) {
    for (const bool fast : {true, false}) {
      const RedispatchGuard guard(fast);
      ASSERT_EQ(run(real, at::TensorOptions(at::kCPU), 0).error, "") << real.name;
      ASSERT_EQ(run(real, on_flagos(), 0).error, "") << real.name;
      for (int n = 1;; ++n) {
        SCOPED_TRACE(std::string(real.name) + (fast ? ", on" : ", off") + ", allocation " + std::to_string(n));
        const Outcome native = run(real, at::TensorOptions(at::kCPU), n);
        const Outcome got = run(real, on_flagos(), n);
        ASSERT_EQ(got.error, native.error);
        ASSERT_EQ(got.before, native.before) << shown(got.before) << "\nnatively" << shown(native.before);
        ASSERT_EQ(got.after, native.after) << shown(got.after) << "\nnatively" << shown(native.after);
        ASSERT_EQ(got.grad, native.grad);
        ASSERT_EQ(got.live, native.live) << "memory leaked";
        ASSERT_EQ(run(real, on_flagos(), 0).error, "") << "the next call works";
        if (native.error.empty()) {
          break;
        }
        ++g_faults_injected;
        ASSERT_LT(n, 200) << "the fault is never past the call";
      }
    }
  }
}

}  // namespace
}  // namespace flagos
