// Kernels that keep their arguments, exchange storages, call operators deep down, and throw after it all. Kernels that
// keep or return without throwing: tests/boxing/alias_test.cpp.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "faults/injection.h"
#include "faults/operators.h"
#include "flagos/redispatch.h"
#include "flagos/target.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::bound_aliases;
using testing::CustomOperator;
using testing::FaultCase;
using testing::g_faults_injected;
using testing::host;
using testing::on_flagos;
using testing::register_custom_operator;
using testing::script;
using testing::thrown_by;
using Tensors = std::vector<at::Tensor>;

struct SwapStorages : CustomOperator<SwapStorages, void(at::Tensor&, at::Tensor&, bool)> {
  static constexpr const char* name = "flagos_test::swap_storages";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "swap_storages(Tensor(a!) x, Tensor(b!) y, bool fails) -> ()";
  static void target(at::Tensor& x, at::Tensor& y, bool fails) {
    const at::Tensor was_x = x.detach();
    x.set_(y);
    y.set_(was_x);
    if (fails) {
      throw std::runtime_error("injected");
    }
  }
};

struct ReturnList : CustomOperator<ReturnList, std::vector<at::Tensor>(at::TensorList)> {
  static constexpr const char* name = "flagos_test::return_list";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "return_list(Tensor[] xs) -> Tensor[]";
  static std::vector<at::Tensor> target(at::TensorList xs) {
    std::vector<at::Tensor> results(xs.rbegin(), xs.rend());
    results.push_back(xs[0].slice(0, 1));
    results.push_back(results.back());
    return results;
  }
};

struct Descend : CustomOperator<Descend, void(at::Tensor&, const at::Tensor&, int64_t)> {
  static constexpr const char* name = "flagos_test::descend";
  static constexpr const char* overload_name = "";
  static constexpr const char* schema_str = "descend(Tensor(a!) x, Tensor y, int depth) -> ()";
  static void target(at::Tensor& x, const at::Tensor& y, int64_t depth) {
    if (depth == 0) {
      throw std::runtime_error("injected");
    }
    x.add_(1);
    at::Tensor inner = at::ones({2}, on_flagos());
    Descend::call(inner, inner + y.to(inner.device()), depth - 1);
  }
};

class KeepingKernelsTest : public ::testing::TestWithParam<bool> {
 protected:
  void TearDown() override {
    script() = {};
    EXPECT_EQ(bound_aliases(), 0U);
  }
  RedispatchGuard guard_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Redispatch, KeepingKernelsTest, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "On" : "Off"; });

// Kept by the kernel, which then throws: what is kept lives on, the caller's tensors are their own.
TEST_P(KeepingKernelsTest, KeptByAKernelThatThrows) {
  for (const FaultCase& op : testing::fault_cases()) {
    for (const bool on_stack : {false, true}) {
      SCOPED_TRACE(op.name + (on_stack ? ", stack" : ""));
      Tensors kept;
      Tensors x;
      for (size_t i = 0; i < op.tensors; ++i) {
        x.push_back(at::full({3}, static_cast<double>(i), on_flagos()));
      }
      script() = {static_cast<int>(op.tensors) - 1, [&](at::Tensor& each, bool /*mutated*/) { kept.push_back(each); },
                  0};
      const std::string error = thrown_by([&] {
        if (on_stack) {
          torch::jit::Stack stack = op.stack(x);
          op.handle().callBoxed(stack);
        } else {
          op.call(x);
        }
      });
      script() = {};
      ASSERT_EQ(error, "exception: injected");
      ++g_faults_injected;
      ASSERT_EQ(bound_aliases(), 0U);
      const std::vector<at::Tensor> before = x;
      at::_foreach_add_(x, 1);  // new aliases, none of which may be a kept one
      for (const at::Tensor& each : kept) {
        if (each.defined()) {
          EXPECT_EQ(each.device().type(), target_device_type());
          EXPECT_EQ(each.use_count(), 1);
        }
      }
      for (size_t i = 0; i < x.size(); ++i) {
        EXPECT_TRUE(at::equal(host(x[i]), at::full({3}, static_cast<double>(i) + 1)));
      }
      x.clear();
      for (const at::Tensor& each : kept) {
        static_cast<void>(each.defined() ? each.sum().item<double>() : 0);
      }
    }
  }
}

TEST_P(KeepingKernelsTest, ExchangedStorages) {
  register_custom_operator<SwapStorages>();
  for (const bool fails : {false, true}) {
    const auto run = [&](const at::TensorOptions& where) {
      at::Tensor x = at::arange(6, where.dtype(at::kFloat)).view({2, 3});
      at::Tensor y = at::full({4}, 9.0, where);
      const at::Tensor view = x[0];
      const auto versions = testing::versions_of({x, y, view});
      const std::string error = thrown_by([&] { SwapStorages::call(x, y, fails); });
      g_faults_injected += error.empty() ? 0 : 1;
      return std::pair(error, testing::state_of({x, y, view}, versions));
    };
    const auto native = run(at::TensorOptions(at::kCPU));
    const auto got = run(on_flagos());
    EXPECT_EQ(got.first, native.first);
    EXPECT_EQ(got.second, native.second) << shown(got.second) << "\nnatively" << shown(native.second);
  }
}

TEST_P(KeepingKernelsTest, ListOfArgumentsReturned) {
  register_custom_operator<ReturnList>();
  for (const size_t n : {size_t{1}, size_t{8}, size_t{9}, size_t{40}}) {
    Tensors x;
    for (size_t i = 0; i < n; ++i) {
      x.push_back(at::ones({3}, on_flagos()));
    }
    const Tensors results = ReturnList::call(x);
    ASSERT_EQ(results.size(), n + 2);
    for (size_t i = 0; i < n; ++i) {
      EXPECT_TRUE(results[i].is_same(x[n - 1 - i])) << i;
    }
    EXPECT_TRUE(results[n].is_alias_of(x[0]));
    EXPECT_TRUE(results[n + 1].is_alias_of(x[0]));
    EXPECT_EQ(results[n].device(), x[0].device());
    EXPECT_EQ(results[n + 1].device(), x[0].device());
  }
}

TEST_P(KeepingKernelsTest, ThrowsFromAThousandCallsDown) {
  register_custom_operator<Descend>();
  at::Tensor x = at::zeros({2}, on_flagos());
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(thrown_by([&] { Descend::call(x, x, 1000); }), "exception: injected");
    ++g_faults_injected;
    EXPECT_EQ(bound_aliases(), 0U);
  }
  EXPECT_TRUE(at::equal(host(x), at::full({2}, 5)));
  EXPECT_EQ(x.use_count(), 1);
}

}  // namespace
}  // namespace flagos
