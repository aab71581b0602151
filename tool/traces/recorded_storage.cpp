#include "traces/recorded_storage.h"

#include <ATen/ATen.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <string>

namespace flagos::diag {
namespace {

constexpr int64_t kMaxBytes = int64_t{1} << 30;
constexpr int64_t kAlignment = 16;  // the largest element, complex128: a storage can be viewed as any dtype

// SplitMix64 (Steele, Lea, Flood 2014): element i of a stream can be had without the ones before it.
uint64_t noise(uint64_t stream, uint64_t index) {
  uint64_t z = stream + (index + 1) * 0x9e3779b97f4a7c15ULL;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

// In (0.1, 0.9): inside the domain of log, sqrt, acos, atanh and their like, and away from where they overflow.
template <typename T>
at::Tensor floating_noise(int64_t count, uint64_t stream) {
  at::Tensor made = at::empty({count}, at::TensorOptions().dtype(c10::CppTypeToScalarType<T>::value));
  T* data = made.mutable_data_ptr<T>();
  for (int64_t i = 0; i < count; ++i) {
    const double unit = static_cast<double>(noise(stream, static_cast<uint64_t>(i)) >> 11) * 0x1.0p-53;
    data[i] = static_cast<T>(0.1 + 0.8 * unit);
  }
  return made;
}

// Complex numbers are pairs of the real noise, so both parts lie in (0.1, 0.9).
at::Tensor floating_data(int64_t count, c10::ScalarType dtype, uint64_t stream) {
  const bool complex = c10::isComplexType(dtype);
  const int64_t reals = complex ? 2 * count : count;
  const bool wide = dtype == c10::ScalarType::Double || dtype == c10::ScalarType::ComplexDouble;
  at::Tensor data = wide ? floating_noise<double>(reals, stream) : floating_noise<float>(reals, stream);
  if (complex) {
    data = at::view_as_complex(data.view({count, 2}));
  }
  return data.to(dtype);
}

std::pair<int64_t, int64_t> limits_of(c10::ScalarType dtype) {
  const int bits = 8 * static_cast<int>(c10::elementSize(dtype));
  const bool is_signed = c10::isSignedType(dtype);
  if (bits == 64) {  // the upper half of uint64 has no place in a range of int64
    return {is_signed ? std::numeric_limits<int64_t>::min() : 0, std::numeric_limits<int64_t>::max()};
  }
  const int64_t high = (int64_t{1} << (is_signed ? bits - 1 : bits)) - 1;
  return {is_signed ? -high - 1 : 0, high};
}

at::Tensor integer_data(int64_t count, c10::ScalarType dtype, std::optional<std::pair<int64_t, int64_t>> range,
                        uint64_t stream) {
  const auto [least, greatest] = limits_of(dtype);
  const auto [wanted_low, wanted_high] = range.value_or(std::pair<int64_t, int64_t>{0, 1});
  const int64_t low = std::clamp(wanted_low, least, greatest);
  const int64_t high = std::clamp(wanted_high, low, greatest);
  const uint64_t span = static_cast<uint64_t>(high) - static_cast<uint64_t>(low) + 1;  // 0 for all of int64
  at::Tensor made = at::empty({count}, at::kLong);
  int64_t* data = made.mutable_data_ptr<int64_t>();
  for (int64_t i = 0; i < count; ++i) {
    const uint64_t drawn = noise(stream, static_cast<uint64_t>(i));
    data[i] = static_cast<int64_t>(static_cast<uint64_t>(low) + (span == 0 ? drawn : drawn % span));
  }
  return made.to(dtype);
}

at::Tensor constant_data(int64_t count, c10::ScalarType dtype, std::optional<std::pair<int64_t, int64_t>> range) {
  if (c10::isComplexType(dtype)) {
    return at::full({count}, c10::complex<double>(0.5, 0.25), at::kComplexDouble).to(dtype);
  }
  if (dtype == c10::ScalarType::Bool) {
    return at::ones({count}, dtype);
  }
  if (c10::isIntegralType(dtype, /*includeBool=*/false)) {
    const auto [least, greatest] = limits_of(dtype);
    return at::full({count}, std::clamp(range.has_value() ? range->first : 0, least, greatest), at::kLong).to(dtype);
  }
  return at::full({count}, 0.5, at::kDouble).to(dtype);
}

at::Tensor bool_data(int64_t count) {
  at::Tensor made = at::empty({count}, at::kBool);
  bool* data = made.mutable_data_ptr<bool>();
  for (int64_t i = 0; i < count; ++i) {
    data[i] = i % 2 == 0;  // some of each, so that masks select and reductions aren't decided at once
  }
  return made;
}

int64_t bytes_of(const TensorRecord& record, c10::ScalarType dtype) {
  int64_t extent = record.offset;
  if (std::find(record.sizes.begin(), record.sizes.end(), 0) == record.sizes.end()) {
    extent += 1;
    for (size_t i = 0; i < record.sizes.size(); ++i) {
      extent += (record.sizes[i] - 1) * record.strides[i];
    }
  }
  const auto size = static_cast<int64_t>(c10::elementSize(dtype));
  return extent > kMaxBytes ? std::numeric_limits<int64_t>::max() : extent * size;
}

}  // namespace

const char* data_name(Data data) noexcept { return data == Data::kConstant ? "constant" : "noise"; }

RecordedStorages::RecordedStorages(const std::vector<Value>& arguments, const MaterializeOptions& options)
    : options_(options) {
  for (const Value& argument : arguments) {
    measure(argument);
  }
  int64_t total = 0;
  for (const auto& [key, storage] : storages_) {
    if (storage.bytes > kMaxBytes - total) {
      throw std::runtime_error("its tensors need more than 1 GiB; record the call with smaller ones");
    }
    total += storage.bytes;
  }
  fill();
}

RecordedStorages::Key RecordedStorages::key_of(const TensorRecord& record) {
  const bool empty = std::find(record.sizes.begin(), record.sizes.end(), 0) != record.sizes.end();
  return {record.storage_id, empty ? record.tensor_id : -1};
}

c10::ScalarType RecordedStorages::dtype_of(const TensorRecord& record) const {
  const bool turns = options_.complex_data && c10::isFloatingType(record.dtype);
  return turns ? c10::toComplexType(record.dtype) : record.dtype;
}

void RecordedStorages::measure(const Value& value) {
  if (const auto* items = std::get_if<std::vector<Value>>(&value.data)) {
    for (const Value& item : *items) {
      measure(item);
    }
  } else if (const auto* record = std::get_if<TensorRecord>(&value.data)) {
    const Key key = key_of(*record);
    const auto [found, fresh] = storages_.try_emplace(key);
    Storage& storage = found->second;
    if (fresh) {
      storage.dtype = dtype_of(*record);
      order_.push_back(key);
    }
    ++storage.uses;
    storage.bytes = std::max(storage.bytes, bytes_of(*record, dtype_of(*record)));
    if (!storage.range.has_value()) {
      storage.range = record->range;
    } else if (record->range.has_value()) {
      // Views of one storage must all stay in their ranges: an index out of its range is an error, or worse.
      const int64_t low = std::max(storage.range->first, record->range->first);
      const int64_t high = std::min(storage.range->second, record->range->second);
      storage.range = low <= high ? std::pair{low, high} : *storage.range;
    }
  }
}

void RecordedStorages::fill() {
  for (size_t place = 0; place < order_.size(); ++place) {
    Storage& storage = storages_.at(order_[place]);
    const int64_t padded = (storage.bytes + kAlignment - 1) / kAlignment * kAlignment;
    const int64_t count = padded / static_cast<int64_t>(c10::elementSize(storage.dtype));
    const uint64_t stream = noise(options_.seed, place);
    at::Tensor data;
    if (options_.data == Data::kConstant) {
      data = constant_data(count, storage.dtype, storage.range);
    } else if (storage.dtype == c10::ScalarType::Bool) {
      data = bool_data(count);
    } else if (c10::isIntegralType(storage.dtype, /*includeBool=*/false)) {
      data = integer_data(count, storage.dtype, storage.range, stream);
    } else if (c10::isFloatingType(storage.dtype) || c10::isComplexType(storage.dtype)) {
      data = floating_data(count, storage.dtype, stream);
    } else {
      throw std::runtime_error(std::string("there is no data for dtype ") + c10::toString(storage.dtype));
    }
    storage.data = options_.device.is_cpu() ? data : data.to(options_.device);
  }
}

at::Tensor RecordedStorages::tensor(const TensorRecord& record) const {
  const Storage& storage = storages_.at(key_of(record));
  const c10::ScalarType dtype = dtype_of(record);
  const at::Tensor data = dtype == storage.dtype ? storage.data : storage.data.view(dtype);
  std::optional<at::AutoDispatchBelowADInplaceOrView> no_view;
  if (storage.uses == 1) {
    no_view.emplace();  // detach_() and the like refuse a view, and share no version counter here anyway
  }
  return data.as_strided(record.sizes, record.strides, record.offset);
}

}  // namespace flagos::diag
