// Routes in force: where calls go, what is refused, and that nothing is left behind.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <functional>

#include "flagos/flagos.h"
#include "flagos_tensors.h"
#include "routes/temporary_folder.h"

namespace flagos {
namespace {

using testing::host;
using testing::iota;
using testing::on_flagos;
using testing::TemporaryFolder;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

struct Counted {
  uint64_t hits;
  uint64_t routed;
};

Counted counted(const char* op, const std::function<void()>& call) {
  constexpr auto kRoute = static_cast<size_t>(Reason::kRoute);
  const OpStats before = op_stats(op);
  call();
  const OpStats after = op_stats(op);
  return {after.hits - before.hits, after.refused.at(kRoute) - before.refused.at(kRoute)};
}

// Collects what c10 warns of.
struct Warnings : c10::WarningHandler {
  void process(const c10::Warning& warning) override { texts += warning.msg() + "\n"; }
  std::string texts;
};

class Routes : public ::testing::Test {
 protected:
  void TearDown() override { clear_routes(); }
};

TEST_F(Routes, NoneByDefault) {
  EXPECT_TRUE(routes().empty());
  EXPECT_EQ(route("add.Tensor"), "native");
  EXPECT_EQ(counted("add.Tensor", [] { iota(3) + iota(3); }).hits, 1U);
}

TEST_F(Routes, DispatchIsBoxedAndNeverFast) {
  const at::Tensor x = iota(3);
  set_route("add.Tensor", "dispatch");
  EXPECT_EQ(route("aten::add.Tensor"), "dispatch");
  const Counted there = counted("add.Tensor", [&] { EXPECT_TRUE(at::equal(host(x + x), host(x) * 2)); });
  EXPECT_EQ(there.hits, 0U);
  EXPECT_EQ(there.routed, 1U);
  for (const char* native : {"native", "cuda"}) {
    set_route("add.Tensor", native);
    EXPECT_TRUE(routes().empty());
    EXPECT_EQ(counted("add.Tensor", [&] { x + x; }).hits, 1U);
    set_route("add.Tensor", "dispatch");
  }
}

TEST_F(Routes, CpuComputesByCopiesAndGoesAway) {
  const at::Tensor x = iota(4).view({2, 2});
  set_route("mm", "cpu");
  const Counted there = counted("mm", [&] {
    const at::Tensor product = at::mm(x, x);
    EXPECT_EQ(product.device(), x.device());
    EXPECT_TRUE(at::equal(host(product), at::mm(host(x), host(x))));
  });
  EXPECT_EQ(there.hits, 0U);
  EXPECT_EQ(there.routed, 1U);
  clear_routes();
  const Counted back = counted("mm", [&] { at::mm(x, x); });
  EXPECT_EQ(back.hits, 1U);
  EXPECT_EQ(back.routed, 0U);
}

TEST_F(Routes, CpuMutatesAndReturnsTheCallersTensor) {
  at::Tensor x = iota(3);
  set_route("mul_.Tensor", "cpu");
  set_route("add.out", "cpu");
  EXPECT_EQ(&x.mul_(iota(3)), &x);
  EXPECT_TRUE(at::equal(host(x), at::tensor({0.F, 1.F, 4.F})));
  at::Tensor out = at::empty({0}, on_flagos());
  EXPECT_TRUE(at::add_out(out, x, x).is_same(out));
  EXPECT_TRUE(at::equal(host(out), at::tensor({0.F, 2.F, 8.F})));
}

TEST_F(Routes, CpuIsBelowAutograd) {
  at::Tensor x = iota(3).requires_grad_();
  set_route("mul.Tensor", "cpu");
  EXPECT_GE(counted("mul.Tensor", [&] { (x * x).sum().backward(); }).routed, 1U);
  EXPECT_TRUE(at::equal(host(x.grad()), at::arange(3, at::kFloat) * 2));
}

TEST_F(Routes, C10HasNothingToWarnOf) {
  Warnings warnings;
  const c10::WarningUtils::WarningHandlerGuard guard(&warnings);
  const c10::WarningUtils::WarnAlways always(true);
  for (const char* backend : {"cpu", "dispatch", "cpu", "cpu", "native", "cpu"}) {
    set_route("sub.Tensor", backend);
  }
  clear_routes();
  EXPECT_EQ(warnings.texts, "");
}

TEST_F(Routes, ABareNameIsThoseOverloadsThatCanGoThere) {
  set_route("max", "cpu");
  EXPECT_EQ(route("max"), "cpu");
  EXPECT_EQ(route("max.dim"), "cpu");
  EXPECT_EQ(route("max.other"), "native");  // made of maximum
  set_route("max.default", "dispatch");
  EXPECT_EQ(route("max"), "dispatch");
  EXPECT_EQ(route("max.dim"), "cpu");
}

TEST_F(Routes, WhatNeverGoesToTheCpuSaysWhy) {
  const std::pair<const char*, const char*> refused[] = {
      {"view", "view"},
      {"transpose.int", "view"},
      {"empty.memory_format", "makes a tensor"},
      {"normal_", "random"},
      {"bernoulli", "random"},
      {"copy_", "copied"},
      {"_to_copy", "copied"},
      {"resize_", "copied"},
      {"matmul", "made of"},
      {"_scaled_dot_product_fused_attention_overrideable", "made of"},
      {"set_.source_Tensor", "copied"}};
  for (const auto& [op, why] : refused) {
    const auto text = error_of([op = op] { set_route(op, "cpu"); });
    EXPECT_TRUE(has(text, op) && has(text, "can't go to cpu")) << text;
    EXPECT_TRUE(has(text, why)) << text;
  }
  EXPECT_TRUE(has(error_of([] { set_route("view", "dispatch"); }), "never boxed"));
  EXPECT_TRUE(has(error_of([] { set_route("matmul", "dispatch"); }), "other operators"));
  EXPECT_TRUE(routes().empty());
}

TEST_F(Routes, UnknownNamesTheNearest) {
  const auto op = error_of([] { set_route("add.Tensr", "cpu"); });
  EXPECT_TRUE(has(op, "add.Tensr") && has(op, "Nearest: add.Tensor")) << op;
  EXPECT_TRUE(has(error_of([] { set_route("admm", "cpu"); }), "Nearest: addmm"));
  const auto backend = error_of([] { set_route("add.Tensor", "dispach"); });
  EXPECT_TRUE(has(backend, "Nearest: dispatch")) << backend;
  EXPECT_TRUE(has(error_of([] { route("no_such_op"); }), "no operator"));
  EXPECT_TRUE(has(error_of([] { set_route("\x1b[31m", "cpu"); }), "?[31m"));
  EXPECT_TRUE(routes().empty());
}

TEST_F(Routes, AFileIsSetAsAWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const auto good = folder.write("good.conf", "add = cpu\nadd.Tensor = dispatch\n");
  EXPECT_EQ(read_routes(good).front().backend, "cpu");  // add.Scalar or another: sorted
  EXPECT_TRUE(routes().empty());
  load_routes(good);
  EXPECT_EQ(route("add.Tensor"), "dispatch");
  EXPECT_EQ(route("add.out"), "cpu");
  for (const Route& each : routes()) {
    EXPECT_TRUE(has(each.where, each.op == "aten::add.Tensor" ? "good.conf:2" : "good.conf:1")) << each.where;
  }
  clear_routes();
  const auto bad = folder.write("bad.conf", "add.Tensor = cpu\n\nmm = cpuu\n");
  for (const auto& text : {error_of([&] { load_routes(bad); }), error_of([&] { read_routes(bad); })}) {
    EXPECT_TRUE(has(text, "bad.conf:3:") && has(text, "Nearest: cpu")) << text;
  }
  EXPECT_TRUE(routes().empty());
}

at::Tensor forty_two(const at::Tensor& self) { return at::full_like(self, 42); }

c10::KernelFunction relu_only(const c10::OperatorHandle& op) {
  return op.operator_name() == c10::OperatorName("aten::relu", "")
             ? c10::KernelFunction::makeFromUnboxedFunction(TORCH_FN(forty_two))
             : c10::KernelFunction();
}

TEST_F(Routes, ANamedBackendBringsItsKernel) {
  EXPECT_TRUE(has(error_of([] { set_route("relu", "answers"); }), "no backend \"answers\""));
  register_backend("answers", relu_only);
  set_route("relu", "answers");
  EXPECT_EQ(host(at::relu(iota(1))).item<float>(), 42.F);
  EXPECT_EQ(route("relu"), "answers");
  EXPECT_TRUE(has(error_of([] { set_route("abs", "answers"); }), "has no kernel for it"));
  clear_routes();
  EXPECT_EQ(host(at::relu(iota(1))).item<float>(), 0.F);
  EXPECT_TRUE(has(error_of([] { register_backend("answers", relu_only); }), "already"));
  for (const char* name : {"cpu", "native", "", "a b", "x=y"}) {
    EXPECT_NE(error_of([name] { register_backend(name, relu_only); }), "no error") << name;
  }
}

TEST_F(Routes, FilesWaitForFlagGems) {
  const TemporaryFolder folder;
  EXPECT_TRUE(has(error_of([] { set_route("relu", "flaggems"); }), "nobody has registered"));
  load_routes(folder.write("a.conf", "relu = flaggems\n"));
  ASSERT_EQ(routes().size(), 2U);  // relu and relu.out
  EXPECT_TRUE(routes().front().waiting);
  EXPECT_EQ(route("relu"), "native");
  EXPECT_EQ(host(at::relu(iota(1))).item<float>(), 0.F);
  register_backend("flaggems", relu_only);
  ASSERT_EQ(routes().size(), 1U);
  EXPECT_FALSE(routes().front().waiting);
  EXPECT_EQ(host(at::relu(iota(1))).item<float>(), 42.F);
}

}  // namespace
}  // namespace flagos
