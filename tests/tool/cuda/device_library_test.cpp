// libflagos-device-compare where there is no GPU: loading, refusals, and what needs no device.
#include <ATen/ATen.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "cuda/device_comparison.h"

namespace flagos::diag {
namespace {

class DeviceLibrary : public testing::Test {
 protected:
  void SetUp() override {
    const char* path = std::getenv("FLAGOS_DEVICE_COMPARE");
    if (path == nullptr) {
      GTEST_SKIP() << "built without nvcc";
    }
    handle_ = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(handle_, nullptr) << dlerror();
  }
  int compare(const flagos_compare_request& request) {
    return reinterpret_cast<decltype(&flagos_compare)>(dlsym(handle_, "flagos_compare"))(&request, &result_);
  }
  std::string message() {
    return reinterpret_cast<decltype(&flagos_compare_message)>(dlsym(handle_, "flagos_compare_message"))();
  }
  // Never read: each test's request is answered before.
  flagos_compare_request request() {
    static constexpr int64_t kOne[] = {1};
    return {memory_, memory_, 0, FLAGOS_COMPARE_FLOAT32, 1, kOne, kOne, kOne, memory_ + 64, nullptr};
  }

  void* handle_ = nullptr;
  flagos_compare_result result_{};
  alignas(64) char memory_[128] = {};
};

TEST_F(DeviceLibrary, LoadsWithoutADriver) { EXPECT_NO_THROW(DeviceComparison(std::getenv("FLAGOS_DEVICE_COMPARE"))); }

TEST_F(DeviceLibrary, RefusalsSayWhy) {
  flagos_compare_request bad = request();
  bad.dtype = FLAGOS_COMPARE_DTYPES;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  EXPECT_EQ(message(), "dtype 18 is none of enum flagos_compare_dtype");
  const int64_t negative[] = {-7};
  bad = request();
  bad.sizes = negative;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  EXPECT_EQ(message(), "size 0 is -7: sizes must be 0 or more");
  bad = request();
  bad.b = memory_ + 2;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  EXPECT_EQ(message(), "a and b must be aligned to 4 bytes for dtype 11");
  bad = request();
  bad.workspace = nullptr;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  const int64_t huge[] = {int64_t{1} << 40, int64_t{1} << 40};
  bad = request();
  bad.dim = 2;
  bad.sizes = bad.strides_a = bad.strides_b = huge;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  EXPECT_EQ(message(), "the sizes' product does not fit 64 bits");
}

TEST_F(DeviceLibrary, TooManyDimensionsHaveACodeOfTheirOwn) {
  const std::vector<int64_t> sizes(FLAGOS_COMPARE_MAX_DIM + 1, 2);
  const std::vector<int64_t> strides(sizes.size(), 1);
  flagos_compare_request many = request();
  many.dim = static_cast<int>(sizes.size());
  many.sizes = sizes.data();
  many.strides_a = many.strides_b = strides.data();
  EXPECT_EQ(compare(many), FLAGOS_COMPARE_TOO_MANY_DIMENSIONS);
}

TEST_F(DeviceLibrary, NothingIsEqualToNothing) {
  const int64_t none[] = {0};
  flagos_compare_request empty = request();
  empty.sizes = none;
  empty.a = empty.b = nullptr;  // as an empty tensor's is
  EXPECT_EQ(compare(empty), FLAGOS_COMPARE_OK);
  EXPECT_EQ(result_.equal, 1);
  EXPECT_EQ(result_.first, -1);
}

TEST_F(DeviceLibrary, AMachineWithoutADeviceIsAnErrorNotACrash) {
  if (at::hasCUDA()) {
    GTEST_SKIP() << "there is a device";
  }
  EXPECT_EQ(compare(request()), FLAGOS_COMPARE_CUDA_ERROR);
  EXPECT_NE(message().find("choosing the device: "), std::string::npos) << message();
}

TEST(DeviceComparison, ALibraryThatCanNotBeLoaded) {
  try {
    const DeviceComparison library("/no/such/library.so");
    FAIL() << "it was loaded";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/no/such/library.so"), std::string::npos) << error.what();
  }
  EXPECT_THROW(DeviceComparison("libc.so.6"), std::runtime_error);
}

TEST(DeviceComparison, TensorsOfTheCpuAreNotForIt) {
  const at::Tensor large = at::zeros({4 * kDeviceComparisonBytes});
  EXPECT_FALSE(wants_device_comparison(large, large));
}

}  // namespace
}  // namespace flagos::diag
