#include "verify/normalized_error.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <gtest/gtest.h>
#include <torch/library.h>

#include <functional>
#include <regex>
#include <string>

#include "report/error_text.h"

namespace flagos::diag {
namespace {

constexpr auto kCpu = c10::DeviceType::CPU;
constexpr auto kCuda = c10::DeviceType::CUDA;

// What PyTorch itself says.
std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error_text(error);
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

std::string replaced(const std::string& text, const char* what, const char* with) {
  return std::regex_replace(text, std::regex(what), with);
}

// sparse_coo_tensor.values() and the like have no kernel for dense tensors, whatever the device.
std::string no_kernel_error(const char* op, const at::Tensor& self) {
  torch::jit::Stack stack = {self};
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(op, "");
  return error_of([&] { handle.callBoxed(stack); });
}

TEST(NormalizedError, NoKernelOnAnyDevice) {
  const std::string cpu = no_kernel_error("aten::_coalesce", at::ones({2}));
  const std::string meta = no_kernel_error("aten::_coalesce", at::ones({2}, at::kMeta));
  ASSERT_NE(cpu.find("Could not run 'aten::_coalesce' with arguments from the 'CPU' backend"), std::string::npos)
      << cpu;
  ASSERT_NE(cpu.find("is only available for these backends: ["), std::string::npos) << cpu;
  EXPECT_EQ(normalized_error(cpu, kCpu), "aten::_coalesce has no kernel for DEVICE");
  // The same text of the other devices of a pair, and of a dispatcher with other kernels.
  const std::string cuda = replaced(replaced(cpu, "'CPU'", "'CUDA'"), "\\[", "[CUDA, HIP, ");
  EXPECT_EQ(normalized_error(cuda, kCuda), "aten::_coalesce has no kernel for DEVICE");
  EXPECT_EQ(normalized_error(replaced(cpu, "'CPU'", "'PrivateUse1'"), kCuda), normalized_error(cuda, kCuda));
  // What is different stays so: another message, another operator, the CPU where the target is CUDA.
  EXPECT_EQ(normalized_error(meta, kCuda), meta);
  EXPECT_EQ(normalized_error(cpu, kCuda), "aten::_coalesce has no kernel for CPU");
  EXPECT_NE(normalized_error(no_kernel_error("aten::_indices", at::ones({2})), kCpu), normalized_error(cpu, kCpu));
}

TEST(NormalizedError, TheLibrarysWordingOfIt) {
  const char* refuses =
      "flagos: aten::_coalesce has no kernel for CUDA and does not fall back to the CPU: it is a view.";
  EXPECT_EQ(normalized_error(refuses, kCuda), "aten::_coalesce has no kernel for DEVICE");
  const char* sparse = "flagos: aten::_coalesce has no kernel for SparseCUDA and none for the CPU, the target of ...";
  EXPECT_EQ(normalized_error(sparse, kCuda), "aten::_coalesce has no kernel for SparseDEVICE");
}

TEST(NormalizedError, ListsOfBackends) {
  // No tensor tells the dispatcher a backend, and the operator has no kernel for that.
  torch::Library library(torch::Library::FRAGMENT, "flagos_text", std::nullopt, __FILE__, __LINE__);
  library.def("of_list(Tensor[] tensors) -> Tensor");
  torch::Library of_cpu(torch::Library::IMPL, "flagos_text", c10::DispatchKey::CPU, __FILE__, __LINE__);
  of_cpu.impl("of_list", [](const std::vector<at::Tensor>& tensors) { return tensors.at(0); });
  const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow("flagos_text::of_list", "");
  torch::jit::Stack stack = {std::vector<at::Tensor>{}};
  const std::string text = error_of([&] { handle.callBoxed(stack); });
  ASSERT_NE(text.find("Available functions are [CPU"), std::string::npos) << text;
  const std::string normal = normalized_error(text, kCpu);
  EXPECT_NE(normal.find("Available functions are [BACKENDS]"), std::string::npos) << normal;
  EXPECT_EQ(normal, normalized_error(replaced(text, "\\[CPU", "[CPU, CUDA"), kCpu));
  EXPECT_EQ(normalized_error("shape [2, 3] is invalid for [CPU-like]", kCuda),
            "shape [2, 3] is invalid for [CPU-like]");
}

TEST(NormalizedError, DevicesOfTensors) {
  const std::string text = error_of([] { at::ones({2}).set_(at::ones({2}, at::kMeta)); });
  ASSERT_NE(text.find("meta"), std::string::npos) << text;
  const std::string cuda = replaced(text, "cpu", "cuda:0");
  EXPECT_EQ(normalized_error(cuda, kCuda), normalized_error(replaced(text, "cpu", "flagos:0"), kCuda));
  EXPECT_NE(normalized_error(cuda, kCuda), normalized_error(text, kCuda));  // on the CPU instead: a difference
  EXPECT_NE(normalized_error(text, kCpu).find("meta"), std::string::npos);
  EXPECT_EQ(normalized_error("expected cpu, got CUDA:1 and flagos", kCpu), "expected DEVICE, got DEVICE and DEVICE");
}

TEST(NormalizedError, TypesAndKeysOfADevice) {
  EXPECT_EQ(normalized_error("got CUDAFloatType and SparseCUDAHalfType", kCuda),
            "got DEVICEFloatType and SparseDEVICEHalfType");
  EXPECT_EQ(normalized_error("'AutogradPrivateUse1' or torch.cuda.FloatTensor", kCuda),
            "'AutogradDEVICE' or torch.DEVICE.FloatTensor");
}

TEST(NormalizedError, NamesOfKernelsStay) {
  const char* text = "aten::_grid_sampler_2d_cpu_fallback: CUDART and cudnn want a CPUish cuda_kernel";
  EXPECT_EQ(normalized_error(text, kCpu), text);
  EXPECT_EQ(normalized_error(text, kCuda), text);
}

}  // namespace
}  // namespace flagos::diag
