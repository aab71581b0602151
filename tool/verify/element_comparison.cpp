#include "verify/element_comparison.h"

#include <ATen/ATen.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "cuda/device_comparison.h"
#include "flagos/target.h"

namespace flagos::diag {
namespace {

constexpr double kRoundings = 64;  // what sums of some thousand numbers in another order come to, in epsilons

// A view of a tensor's memory as a plain tensor of the target: no code of the library under test takes part.
at::Tensor plain_view(const at::Tensor& tensor, c10::ScalarType dtype) {
  std::vector<int64_t> sizes = tensor.sizes().vec();
  std::vector<int64_t> strides = tensor.strides().vec();
  for (int64_t pieces = tensor.element_size() / static_cast<int64_t>(c10::elementSize(dtype)); pieces > 1; pieces = 0) {
    std::for_each(strides.begin(), strides.end(), [pieces](int64_t& stride) { stride *= pieces; });
    sizes.push_back(pieces);
    strides.push_back(1);
  }
  const c10::Device device = to_target_device(tensor.device());
  return at::for_blob(const_cast<void*>(tensor.const_data_ptr()), sizes)
      .strides(strides)
      .target_device(device)
      .options(at::TensorOptions().device(device).dtype(dtype))
      .make_tensor();
}

// Elements as integers: NaN payloads and signs of zeros count. A complex128 becomes two.
at::Tensor bits_of(const at::Tensor& tensor) {
  switch (tensor.element_size()) {
    case 1:
      return plain_view(tensor, at::kByte);
    case 2:
      return plain_view(tensor, at::kShort);
    case 4:
      return plain_view(tensor, at::kInt);
    default:
      return plain_view(tensor, at::kLong);
  }
}

at::Tensor values_of(const at::Tensor& tensor) {
  return plain_view(tensor, tensor.scalar_type()).to(tensor.is_complex() ? at::kComplexDouble : at::kDouble);
}

std::vector<int64_t> position_of(int64_t flat, c10::IntArrayRef sizes) {
  std::vector<int64_t> position(sizes.size());
  for (size_t i = sizes.size(); i-- > 0;) {
    position[i] = flat % sizes[i];
    flat /= sizes[i];
  }
  return position;
}

// One element, of a tensor that may be too large to be copied; of bits that are several pieces, those.
at::Tensor element_at(at::Tensor view, const std::vector<int64_t>& position) {
  for (const int64_t index : position) {
    view = view.select(0, index);
  }
  return view;
}

std::string element_text(const at::Tensor& tensor, const at::Tensor& bits, const std::vector<int64_t>& position) {
  const auto width = static_cast<int>(2 * bits.element_size());
  const auto raw = static_cast<uint64_t>(bits.item<int64_t>());
  const uint64_t mask = width == 16 ? ~uint64_t{0} : (uint64_t{1} << (4 * width)) - 1;
  const at::Tensor value = element_at(plain_view(tensor, tensor.scalar_type()), position);
  if (tensor.is_complex()) {
    const auto number = value.to(at::kComplexDouble).item<c10::complex<double>>();
    return fmt::format("0x{:0{}x} ({}{:+}j)", raw & mask, width, number.real(), number.imag());
  }
  return fmt::format("0x{:0{}x} ({})", raw & mask, width, value.to(at::kDouble).item<double>());
}

std::optional<double> greatest_difference(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor distance = (values_of(a) - values_of(b)).abs();
  const at::Tensor known = distance.masked_select(distance.isnan().logical_not());
  return known.numel() == 0 ? std::nullopt : std::optional(known.max().item<double>());
}

// The distance between 1 and the next number; 0: no floating-point type.
double epsilon_of(c10::ScalarType dtype) {
  switch (c10::toRealValueType(dtype)) {
    case at::kDouble:
      return 0x1p-52;
    case at::kFloat:
      return 0x1p-23;
    case at::kHalf:
      return 0x1p-10;
    case at::kBFloat16:
      return 0x1p-7;
    default:
      return 0;
  }
}

// Looks at the elements as they are: copies of large ones as double may not fit the device.
bool within_rounding(const at::Tensor& a, const at::Tensor& b, std::optional<double> distance) {
  const double epsilon = epsilon_of(a.scalar_type());
  if (!distance.has_value() || epsilon == 0) {
    return false;
  }
  const at::Tensor of_a = plain_view(a, a.scalar_type());
  const at::Tensor finite = of_a.isfinite();
  if (!finite.any().item<bool>() || !at::equal(finite, plain_view(b, b.scalar_type()).isfinite())) {
    return false;
  }
  const double greatest = at::where(finite, of_a.abs(), 0).max().item<double>();
  return *distance <= kRoundings * epsilon * greatest;
}

// How the elements of two tensors differ.
struct Contrast {
  int64_t first = 0;  // row-major number of the first that does
  int64_t different = 0;
  std::optional<double> max_abs;
};

std::optional<Contrast> contrast_by_operators(const at::Tensor& a, const at::Tensor& b) {
  const at::Tensor bits_a = bits_of(a);
  const at::Tensor bits_b = bits_of(b);
  if (at::equal(bits_a, bits_b)) {
    return std::nullopt;
  }
  const at::Tensor unequal = bits_a.ne(bits_b);
  const at::Tensor places = (unequal.dim() > a.dim() ? unequal.any(-1) : unequal).reshape(-1).nonzero();
  return Contrast{places[0][0].item<int64_t>(), places.size(0), greatest_difference(a, b)};
}

std::optional<Contrast> contrast(const at::Tensor& a, const at::Tensor& b) {
  const DeviceComparison* device = wants_device_comparison(a, b) ? device_comparison() : nullptr;
  const auto found = device != nullptr ? device->compare(a, b) : std::nullopt;
  if (!found.has_value()) {
    return contrast_by_operators(a, b);
  }
  if (found->equal != 0) {
    return std::nullopt;
  }
  return Contrast{found->first, found->different,
                  found->has_max_abs != 0 ? std::optional(found->max_abs) : std::nullopt};
}

}  // namespace

std::optional<Difference> compare_elements(const std::string& subject, const at::Tensor& a, const at::Tensor& b) {
  if (a.numel() == 0 || !a.has_storage() || a._is_zerotensor() || a.is_meta()) {
    return std::nullopt;
  }
  const auto found = contrast(a, b);
  if (!found.has_value()) {
    return std::nullopt;
  }
  const std::vector<int64_t> position = position_of(found->first, a.sizes());
  const at::Tensor bits_a = element_at(bits_of(a), position).reshape(-1);
  const at::Tensor bits_b = element_at(bits_of(b), position).reshape(-1);
  const auto piece = bits_a.ne(bits_b).nonzero()[0][0].item<int64_t>();
  Difference difference{
      fmt::format("{}: contents, {} of {}", subject, found->different, a.numel()), found->max_abs,
      fmt::format("[{}]: {} against {}", fmt::join(position, ","), element_text(a, bits_a[piece], position),
                  element_text(b, bits_b[piece], position))};
  difference.rounding = within_rounding(a, b, found->max_abs);
  return difference;
}

}  // namespace flagos::diag
