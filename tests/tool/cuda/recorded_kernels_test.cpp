// KernelRecorder with the real CUPTI, on a GPU.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "cuda/kernel_recorder.h"

namespace flagos::diag {
namespace {

at::TensorOptions on_device(const char* device) { return at::TensorOptions().device(at::Device(device)); }

KernelSequence recorded(KernelRecorder& recorder, const std::function<void()>& work) {
  recorder.start();
  work();
  return recorder.stop();
}

TEST(RecordedKernels, OfTorchsOwnOperators) {
  const auto recorder = make_target_recorder();
  const at::Tensor tensor = at::randn({1000}, on_device("cuda"));
  const auto relu = recorded(*recorder, [&] { at::relu(tensor); });
  ASSERT_EQ(relu.size(), 1U) << testing::PrintToString(relu);
  EXPECT_NE(relu[0].find("at::native::"), std::string::npos) << relu[0];
  EXPECT_EQ(recorded(*recorder, [&] { at::relu(tensor); }), relu);
  EXPECT_NE(recorded(*recorder, [&] { at::sum(tensor); }), relu);
  EXPECT_EQ(recorded(*recorder, [&] { tensor.view({10, 100}); }), KernelSequence{});
}

TEST(RecordedKernels, CopiesAndFills) {
  const auto recorder = make_target_recorder();
  const at::Tensor host = at::ones({1000});
  const at::Tensor tensor = at::empty({1000}, on_device("cuda"));
  EXPECT_EQ(recorded(*recorder, [&] { tensor.copy_(host); }), KernelSequence{"memcpy HtoD (pageable to device)"});
  EXPECT_EQ(recorded(*recorder, [&] { tensor.cpu(); }), KernelSequence{"memcpy DtoH (device to pageable)"});
  EXPECT_EQ(recorded(*recorder, [&] { at::fill(tensor, 2); }).size(), 1U);
}

TEST(RecordedKernels, TheOrderIsThatOfTheCalls) {
  const auto recorder = make_target_recorder();
  const at::Tensor tensor = at::randn({64, 64}, on_device("cuda"));
  const auto product = recorded(*recorder, [&] { at::mm(tensor, tensor); });
  const auto relu = recorded(*recorder, [&] { at::relu(tensor); });
  KernelSequence both = product;
  both.insert(both.end(), relu.begin(), relu.end());
  EXPECT_EQ(recorded(*recorder, [&] { at::relu(at::mm(tensor, tensor)); }), both);
}

TEST(RecordedKernels, FlagosLaunchesWhatCudaLaunches) {
  const auto recorder = make_target_recorder();
  const at::Tensor native = at::randn({100, 30}, on_device("cuda"));
  const at::Tensor boxed = at::randn({100, 30}, on_device("flagos"));
  for (const auto& call : {std::function([](const at::Tensor& t) { at::softmax(t, 1); }),
                           std::function([](const at::Tensor& t) { at::mm(t, t.t()); })}) {
    call(native);  // which may set up a library
    const auto of_native = recorded(*recorder, [&] { call(native); });
    EXPECT_FALSE(of_native.empty());
    EXPECT_EQ(recorded(*recorder, [&] { call(boxed); }), of_native);
  }
}

}  // namespace
}  // namespace flagos::diag
