// Against a libcupti of the test's own, fake_cupti.cpp, which needs no GPU; the last ones against the real one.
#include "cuda/kernel_recorder.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "cuda/cuda_driver.h"

#if FLAGOS_DIAG_HAS_CUPTI

namespace flagos::diag {
namespace {

std::string fake_path() { return std::getenv("FLAGOS_FAKE_CUPTI"); }

template <class Function>
Function fake(const char* name) {
  static void* const library = dlopen(fake_path().c_str(), RTLD_NOW | RTLD_LOCAL);
  return library != nullptr ? reinterpret_cast<Function>(dlsym(library, name)) : nullptr;
}

template <class Record>
void launch(const Record& record) {
  fake<void (*)(const CUpti_Activity*)>("fake_launch")(reinterpret_cast<const CUpti_Activity*>(&record));
}

void launch_kernel(const char* name, uint32_t correlation, uint64_t start = 0) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  kernel.name = name;
  kernel.correlationId = correlation;
  kernel.start = start;
  launch(kernel);
}

KernelRecorder::Device device() {
  return {[] { launch_kernel("probe", 1); }, [] {}};
}

std::string failure(const KernelRecorder::Device& of, const std::vector<std::string>& candidates) {
  try {
    const KernelRecorder recorder(of, candidates);
  } catch (const CuptiError& error) {
    return error.what();
  }
  return "";
}

void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no\n" << part;
}

TEST(KernelRecorder, RecordsKernelsCopiesAndFillsInOrder) {
  KernelRecorder recorder(device(), {fake_path()});
  launch_kernel("before", 2);
  recorder.start();
  CUpti_ActivityMemset4 fill{};
  fill.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  fill.correlationId = 5;
  fill.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  launch(fill);
  launch_kernel("_ZN2at6native4copyEPfi", 3);
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  copy.correlationId = 4;
  copy.copyKind = CUPTI_ACTIVITY_MEMCPY_KIND_HTOD;
  copy.srcKind = CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.dstKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  launch(copy);
  CUpti_ActivityMemcpyPtoP4 peer{};
  peer.kind = CUPTI_ACTIVITY_KIND_MEMCPY2;
  peer.correlationId = 6;
  launch(peer);
  CUpti_ActivityOverhead3 other{};
  other.kind = CUPTI_ACTIVITY_KIND_OVERHEAD;
  launch(other);
  EXPECT_EQ(recorder.stop(), (KernelSequence{"at::native::copy(float*, int)", "memcpy HtoD (pinned to device)",
                                             "memset (device)", "memcpy PtoP (device to device)"}));
  recorder.start();
  EXPECT_EQ(recorder.stop(), KernelSequence{});
}

TEST(KernelRecorder, GivesCuptiBack) {
  { const KernelRecorder recorder(device(), {fake_path()}); }
  EXPECT_TRUE(fake<bool (*)()>("fake_is_free")());
  EXPECT_EQ(failure(device(), {fake_path()}), "");
}

TEST(KernelRecorder, ThereIsOneAtATime) {
  const KernelRecorder recorder(device(), {fake_path()});
  EXPECT_THROW(KernelRecorder(device(), {fake_path()}), std::logic_error);
}

TEST(KernelRecorder, WaitsForTheDevice) {
  int waits = 0;
  auto counting = device();
  counting.synchronize = [&waits] { ++waits; };
  KernelRecorder recorder(counting, {fake_path()});
  const int before = waits;
  recorder.start();
  recorder.stop();
  EXPECT_EQ(waits, before + 2);
}

TEST(KernelRecorder, LostRecordsAreAnError) {
  KernelRecorder recorder(device(), {fake_path()});
  recorder.start();
  launch_kernel("gemm", 3);
  fake<void (*)(size_t)>("fake_drop")(3);
  EXPECT_THROW(recorder.stop(), CuptiError);
}

TEST(KernelRecorder, AnotherClientIsNamed) {
  const auto subscription = fake<void (*)(CUptiResult)>("fake_subscription");
  subscription(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  const std::string text = failure(device(), {fake_path()});
  subscription(CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
  const std::string forbidden = failure(device(), {fake_path()});
  subscription(CUPTI_SUCCESS);
  expect_in(text, "another CUPTI client holds this process");
  expect_in(text, "Nsight");
  expect_in(forbidden, "NVreg_RestrictProfilingToAdminUsers");
  expect_in(forbidden, "CUPTI_ERROR_OF_THE_TEST");
}

TEST(KernelRecorder, AProbeWithoutRecordIsNoSilence) {
  expect_in(failure({[] {}, [] {}}, {fake_path()}), "recorded nothing of a probe kernel");
  EXPECT_TRUE(fake<bool (*)()>("fake_is_free")());
}

TEST(KernelRecorder, AMissingLibraryHasARemedy) {
  const std::string text = failure(device(), {"/no/such/libcupti.so.13"});
  expect_in(text, "/no/such/libcupti.so.13");
  expect_in(text, "pip install nvidia-cuda-cupti");
}

TEST(KernelRecorder, ALibraryThatIsNotCupti) { expect_in(failure(device(), {"libc.so.6"}), "libc.so.6 has no cupti"); }

TEST(KernelRecorder, TheFirstThatCanBeLoadedIsTaken) {
  EXPECT_EQ(failure(device(), {"/no/such/libcupti.so.13", fake_path()}), "");
}

TEST(KernelRecorder, WithoutADriverTheRealOneIsLeftAlone) {
  if (cuda_driver().found) {
    GTEST_SKIP() << "there is a driver";
  }
  try {
    const KernelRecorder recorder({[] {}, [] {}});
    FAIL() << "nothing was thrown";
  } catch (const CuptiError& error) {
    expect_in(error.what(), "no CUDA driver");
    expect_in(error.what(), "libcuda.so.1");
  }
}

TEST(KernelRecorder, TheRealOneOfThisMachine) {
  CuptiLibrary real;
  try {
    real = load_cupti(cupti_candidates());
  } catch (const CuptiError& error) {
    GTEST_SKIP() << error.what();
  }
  uint32_t version = 0;
  EXPECT_EQ(real.version(&version), CUPTI_SUCCESS);
  EXPECT_GE(version, 18U);
}

}  // namespace
}  // namespace flagos::diag

#else

TEST(KernelRecorder, ABuildWithoutHeadersSaysSo) {
  try {
    const flagos::diag::KernelRecorder recorder({[] {}, [] {}});
    FAIL() << "it was made";
  } catch (const flagos::diag::CuptiError& error) {
    EXPECT_NE(std::string(error.what()).find("built without CUPTI's headers"), std::string::npos) << error.what();
  }
}

#endif
