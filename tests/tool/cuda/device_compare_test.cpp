// libflagos-device-compare against torch's own operators, on a GPU.
#include "cuda/device_compare/device_compare.h"

#include <ATen/ATen.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "cuda/device_comparison.h"
#include "verify/comparison.h"

namespace flagos::diag {
namespace {

const DeviceComparison& library() {
  static const DeviceComparison kLibrary{std::getenv("FLAGOS_DEVICE_COMPARE")};
  return kLibrary;
}

at::TensorOptions on_gpu(c10::ScalarType type) { return at::TensorOptions().device(at::kCUDA).dtype(type); }

// Positive, so that no zero has two signs.
at::Tensor random(c10::IntArrayRef sizes, c10::ScalarType type) {
  const auto real = [&] { return at::rand(sizes, on_gpu(at::kDouble)).add_(0.5); };
  if (at::isComplexType(type)) {
    return at::complex(real(), real()).to(type);
  }
  return at::isFloatingType(type) ? real().to(type)
                                  : at::randint(type == at::kBool ? 2 : 100, sizes, on_gpu(at::kInt)).to(type);
}

at::Tensor wide(const at::Tensor& tensor) { return tensor.to(tensor.is_complex() ? at::kComplexDouble : at::kDouble); }

flagos_compare_result answer(const at::Tensor& a, const at::Tensor& b) {
  const auto found = library().compare(a, b);
  EXPECT_TRUE(found.has_value()) << a.toString();
  return found.value_or(flagos_compare_result{});
}

// Of tensors without NaN and zeros of two signs, for which torch's operators ask the same.
void expect_as_torch(const at::Tensor& a, const at::Tensor& b, const std::string& what) {
  SCOPED_TRACE(what);
  const flagos_compare_result found = answer(a, b);
  const at::Tensor wide_a = wide(a);
  const at::Tensor wide_b = wide(b);
  EXPECT_EQ(found.equal != 0, at::equal(wide_a, wide_b));
  const at::Tensor places = wide_a.ne(wide_b).reshape(-1).nonzero();
  EXPECT_EQ(found.different, places.size(0));
  EXPECT_EQ(found.first, places.size(0) == 0 ? -1 : places[0][0].item<int64_t>());
  ASSERT_EQ(found.has_max_abs != 0, places.size(0) != 0);
  if (found.has_max_abs != 0) {
    EXPECT_DOUBLE_EQ(found.max_abs, (wide_a - wide_b).abs().max().item<double>());
  }
}

constexpr c10::ScalarType kTypes[] = {
    at::kByte,   at::kChar,        at::kShort,        at::kInt,           at::kLong,          at::kUInt16,
    at::kUInt32, at::kUInt64,      at::kBool,         at::kHalf,          at::kBFloat16,      at::kFloat,
    at::kDouble, at::kComplexHalf, at::kComplexFloat, at::kComplexDouble, at::kFloat8_e4m3fn, at::kFloat8_e5m2};

// A copy in which one bit of one element is another.
at::Tensor changed(const at::Tensor& tensor, int64_t at) {
  at::Tensor bytes = tensor.clone();
  at::Tensor raw = bytes.view(-1).view(at::kByte);
  const int64_t size = tensor.element_size();
  raw[at * size + size - 1].bitwise_xor_(1);  // not the sign bit of any dtype
  return bytes;
}

TEST(DeviceCompare, EveryDtype) {
  for (const c10::ScalarType type : kTypes) {
    for (const int64_t numel : {1, 7, 1000, 3'000'000}) {
      const at::Tensor a = random({numel}, type);
      const std::string what = std::string(c10::toString(type)) + " x " + std::to_string(numel);
      expect_as_torch(a, a.clone(), what);
      for (const int64_t at : {int64_t{0}, numel / 2, numel - 1}) {
        expect_as_torch(a, changed(a, at), what);
      }
      expect_as_torch(a, random({numel}, type), what);
    }
  }
}

TEST(DeviceCompare, StridedInputs) {
  const at::Tensor a = random({64, 48, 40, 8}, at::kFloat);
  at::Tensor b = a.clone();
  b[63][0][1][0] += 1;
  b[2][47][0][3] += 2;
  expect_as_torch(a.permute({3, 1, 0, 2}), b.permute({3, 1, 0, 2}), "permuted");
  expect_as_torch(a.permute({3, 1, 0, 2}), b.permute({3, 1, 0, 2}).contiguous(), "permuted against contiguous");
  expect_as_torch(a.slice(3, 1, 7, 2), b.slice(3, 1, 7, 2), "every other element");
  expect_as_torch(a.narrow(1, 3, 45), b.narrow(1, 3, 45), "narrowed");
  expect_as_torch(a[63][0].unsqueeze(0).expand({50, 40, 8}), b[63][0].unsqueeze(0).expand({50, 40, 8}), "expanded");
  expect_as_torch(a.contiguous(at::MemoryFormat::ChannelsLast), b, "channels last against contiguous");
}

TEST(DeviceCompare, EveryOffset) {
  for (int64_t of_a = 0; of_a < 17; ++of_a) {
    for (const int64_t of_b : {0, 1, 2, 4, 8, 16}) {
      const at::Tensor data = random({10'000}, at::kByte);
      const at::Tensor a = at::zeros({10'100}, on_gpu(at::kByte)).narrow(0, of_a, 10'000).copy_(data);
      const at::Tensor b = at::ones({10'100}, on_gpu(at::kByte)).narrow(0, of_b, 10'000).copy_(data);
      expect_as_torch(a, b, std::to_string(of_a) + " " + std::to_string(of_b));
      for (const int64_t at : {0, 5, 9'999}) {
        b[at].bitwise_xor_(1);
        expect_as_torch(a, b, std::to_string(of_a) + " " + std::to_string(of_b) + " at " + std::to_string(at));
      }
    }
  }
}

at::Tensor floats_of_bits(int64_t bits) { return at::full({100}, bits, on_gpu(at::kInt)).view(at::kFloat); }

TEST(DeviceCompare, NanPayloadsAndZerosOfTwoSigns) {
  const at::Tensor nan = floats_of_bits(0x7fc00000);
  EXPECT_FALSE(at::equal(nan, nan.clone()));  // for torch NaN is never equal; for us it is when its bits are
  EXPECT_EQ(answer(nan, nan.clone()).equal, 1);
  const auto payload = answer(nan, floats_of_bits(0x7fc00001));
  EXPECT_EQ((std::tuple(payload.equal, payload.first, payload.different, payload.has_max_abs)),
            (std::tuple(0, int64_t{0}, int64_t{100}, 0)));
  const at::Tensor zeros = at::zeros({100}, on_gpu(at::kFloat));
  EXPECT_TRUE(at::equal(zeros, zeros.neg()));
  const auto signs = answer(zeros, zeros.neg());
  EXPECT_EQ((std::tuple(signs.equal, signs.first, signs.has_max_abs, signs.max_abs)),
            (std::tuple(0, int64_t{0}, 1, 0.0)));
}

TEST(DeviceCompare, NanIsLeftOutOfTheDistanceAndInfinityIsNot) {
  const at::Tensor a = at::zeros({4}, on_gpu(at::kDouble));
  at::Tensor b = a.clone();
  b[1] = std::numeric_limits<double>::quiet_NaN();
  b[2] = 3;
  const auto some = answer(a, b);
  EXPECT_EQ((std::tuple(some.first, some.different, some.max_abs)), (std::tuple(int64_t{1}, int64_t{2}, 3.0)));
  b[3] = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(answer(a, b).max_abs, std::numeric_limits<double>::infinity());
}

TEST(DeviceCompare, Empty) {
  const auto found = answer(at::empty({0, 5}, on_gpu(at::kFloat)), at::empty({0, 5}, on_gpu(at::kFloat)));
  EXPECT_EQ((std::tuple(found.equal, found.first, found.different, found.has_max_abs)),
            (std::tuple(1, int64_t{-1}, int64_t{0}, 0)));
}

TEST(DeviceCompare, ScalarsAndManyDimensions) {
  expect_as_torch(random({}, at::kFloat), random({}, at::kFloat), "scalar");
  const at::Tensor overlapping = random({64}, at::kFloat).as_strided(at::DimVector(20, 2), at::DimVector(20, 1));
  EXPECT_FALSE(library().compare(overlapping, overlapping.clone()).has_value());  // 17 and more can't be walked
}

// The last element, and one in the middle, of more than an int32 counts.
void expect_far_differences(const at::Tensor& a, const at::Tensor& b, c10::IntArrayRef last, int64_t number) {
  EXPECT_EQ(answer(a, b).equal, 1);
  at::Tensor end = b;
  for (const int64_t index : last) {
    end = end.select(0, index);
  }
  end.fill_(5);
  const auto found = answer(a, b);
  EXPECT_EQ((std::tuple(found.equal, found.first, found.different, found.max_abs)),
            (std::tuple(0, number, int64_t{1}, 5.0)));
}

TEST(DeviceCompare, MoreThanTwoToThe31Elements) {
  const int64_t numel = (int64_t{1} << 31) + 4099;
  try {
    const at::Tensor a = at::zeros({numel}, on_gpu(at::kByte));
    expect_far_differences(a, a.clone(), {numel - 1}, numel - 1);
    const int64_t row = (int64_t{1} << 30) + 77;
    const at::Tensor rows = at::zeros({3, row + 9}, on_gpu(at::kByte)).narrow(1, 0, row);
    const at::Tensor others = at::zeros({3, row + 9}, on_gpu(at::kByte)).narrow(1, 0, row);
    expect_far_differences(rows, others, {2, row - 1}, 3 * row - 1);
  } catch (const c10::OutOfMemoryError& error) {
    GTEST_SKIP() << "too little memory on the device: " << error.what_without_backtrace();
  }
}

TEST(DeviceCompare, BadRequestsAreRefusedWithAMessage) {
  const at::Tensor tensor = at::zeros({4, 64}, on_gpu(at::kByte));
  const auto compare = [](const flagos_compare_request& request) {
    static void* const handle = dlopen(std::getenv("FLAGOS_DEVICE_COMPARE"), RTLD_NOW | RTLD_LOCAL);
    flagos_compare_result result{};
    return reinterpret_cast<decltype(&flagos_compare)>(dlsym(handle, "flagos_compare"))(&request, &result);
  };
  const int64_t one[] = {1};
  const int64_t negative[] = {-1};
  char* const memory = static_cast<char*>(tensor.mutable_data_ptr());
  const flagos_compare_request good = {
      memory, memory, tensor.get_device(), FLAGOS_COMPARE_FLOAT32, 1, one, one, one, memory + 64, nullptr};
  EXPECT_EQ(compare(good), FLAGOS_COMPARE_OK);
  flagos_compare_request bad = good;
  bad.dtype = FLAGOS_COMPARE_DTYPES;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  bad = good;
  bad.sizes = negative;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  bad = good;
  bad.b = memory + 1;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  bad = good;
  bad.workspace = nullptr;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_BAD_ARGUMENT);
  bad = good;
  bad.device = 1000;
  EXPECT_EQ(compare(bad), FLAGOS_COMPARE_CUDA_ERROR);
  EXPECT_EQ(compare(good), FLAGOS_COMPARE_OK) << "an error leaves the context usable";
}

// verify says the same of a large tensor, compared here, as of a small one, compared by operators.
TEST(DeviceCompare, VerifySaysTheSameOfLargeAndSmallTensors) {
  const at::Tensor a = random({1 << 20}, at::kComplexDouble);
  at::Tensor b = a.clone();
  at::view_as_real(b)[3][1] += 0.5;
  ASSERT_TRUE(wants_device_comparison(a, b));
  ASSERT_FALSE(wants_device_comparison(a.narrow(0, 0, 5), b.narrow(0, 0, 5)));
  const auto large = compare_tensors("t", a, b, Contents::kCompared);
  const auto small = compare_tensors("t", a.narrow(0, 0, 5), b.narrow(0, 0, 5), Contents::kCompared);
  ASSERT_TRUE(large.has_value() && small.has_value());
  EXPECT_EQ(large->first_diff, small->first_diff);
  EXPECT_EQ(large->max_abs_diff, small->max_abs_diff);
  EXPECT_EQ(large->reason, "t: contents, 1 of 1048576");
  EXPECT_EQ(small->reason, "t: contents, 1 of 5");
}

}  // namespace
}  // namespace flagos::diag
