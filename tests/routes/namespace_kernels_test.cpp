// Backends whose kernels are operators of a library of their own.
#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <string>

#include "flagos/flagos.h"
#include "flagos_tensors.h"

namespace flagos {
namespace {

using testing::host;
using testing::iota;

c10::DeviceType g_seen = c10::DeviceType::CPU;  // what the kernels below were last given

at::Tensor add_tenfold(const at::Tensor& a, const at::Tensor& b, const at::Scalar& alpha) {
  g_seen = a.device().type();
  return at::add(a, b, alpha).mul_(10);
}

at::Tensor neg_on_flagos(const at::Tensor& a) {
  g_seen = a.device().type();
  return at::add(a, 1);
}

TORCH_LIBRARY(flagos_test_kernels, library) {
  library.def("add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor");
  library.def("neg(Tensor self) -> Tensor");
  library.def("abs(Tensor self) -> Tensor");            // no kernel
  library.def("sin(Tensor self, int more) -> Tensor");  // another argument
  library.def("cos_(Tensor self) -> Tensor");           // writes to nothing, by its schema
  library.def("exp(Tensor self) -> (Tensor, Tensor)");  // another result
  library.def("relu(Tensor self) -> Tensor");
}
TORCH_LIBRARY_IMPL(flagos_test_kernels, CPU, library) {
  library.impl("add.Tensor", &add_tenfold);
  library.impl("sin", [](const at::Tensor& a, int64_t /*more*/) { return a.clone(); });
  library.impl("cos_", [](const at::Tensor& a) { return a.clone(); });
  library.impl("exp", [](const at::Tensor& a) { return std::tuple(a.clone(), a.clone()); });
}
TORCH_LIBRARY_IMPL(flagos_test_kernels, PrivateUse1, library) { library.impl("neg", &neg_on_flagos); }

std::string error_of_route(const char* op) {
  try {
    set_route(op, "test_kernels");
  } catch (const c10::Error& error) {
    return error.what_without_backtrace();
  }
  return "no error";
}

class NamespaceKernels : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { register_backend("test_kernels", namespace_kernels("flagos_test_kernels")); }
  void TearDown() override { clear_routes(); }
};

TEST_F(NamespaceKernels, ATargetsKernelIsGivenTheTargetsTensors) {
  set_route("add.Tensor", "test_kernels");
  const at::Tensor x = iota(3);
  for (const bool on : {true, false}) {
    const RedispatchGuard guard(on);
    g_seen = c10::DeviceType::PrivateUse1;
    const at::Tensor sum = at::add(x, x, 2);
    EXPECT_EQ(g_seen, c10::DeviceType::CPU);
    EXPECT_EQ(sum.device(), x.device());
    EXPECT_TRUE(at::equal(host(sum), host(x) * 30));
  }
  clear_routes();
  EXPECT_TRUE(at::equal(host(x + x), host(x) * 2));
}

TEST_F(NamespaceKernels, AKernelOfPrivateUse1IsGivenFlagosTensors) {
  set_route("neg", "test_kernels");
  const at::Tensor x = iota(3);
  EXPECT_TRUE(at::equal(host(at::neg(x)), host(x) + 1));
  EXPECT_EQ(g_seen, c10::DeviceType::PrivateUse1);
}

TEST_F(NamespaceKernels, OperatorsWithoutAKernelCantGoThere) {
  for (const char* op : {"abs", "relu", "mul.Tensor"}) {
    EXPECT_NE(error_of_route(op).find("can't go to test_kernels"), std::string::npos) << error_of_route(op);
  }
}

TEST_F(NamespaceKernels, AnotherSchemaIsRefused) {
  for (const char* op : {"sin", "cos_", "exp"}) {
    const std::string error = error_of_route(op);
    EXPECT_NE(error.find("whose schema is another one"), std::string::npos) << error;
    EXPECT_NE(error.find("Its schema must be that of aten::" + std::string(op)), std::string::npos) << error;
    EXPECT_EQ(route(op), "native");
  }
}

}  // namespace
}  // namespace flagos
