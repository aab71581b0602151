#include "traces/trace_tensor.h"

#include <c10/util/safe_numerics.h>

#include <limits>
#include <string>
#include <unordered_map>

#include "report/foreign_text.h"
#include "traces/trace_node.h"

namespace flagos::diag {
namespace {

using nlohmann::json;

constexpr size_t kMaxRank = 64;  // at::Tensor's own limit in TensorIterator

// caffe2::TypeMeta names, which are the compiler's spelling of the C++ type: GCC's, Clang's and MSVC's for integers.
const std::unordered_map<std::string_view, c10::ScalarType>& scalar_types() {
  using enum c10::ScalarType;
  static const std::unordered_map<std::string_view, c10::ScalarType> types = {
      {"float", Float},
      {"double", Double},
      {"bool", Bool},
      {"int", Int},
      {"long int", Long},
      {"long", Long},
      {"long long", Long},
      {"__int64", Long},
      {"short int", Short},
      {"short", Short},
      {"signed char", Char},
      {"unsigned char", Byte},
      {"short unsigned int", UInt16},
      {"unsigned short", UInt16},
      {"unsigned int", UInt32},
      {"long unsigned int", UInt64},
      {"unsigned long", UInt64},
      {"unsigned __int64", UInt64},
      {"c10::Half", Half},
      {"c10::BFloat16", BFloat16},
      {"c10::complex<float>", ComplexFloat},
      {"c10::complex<double>", ComplexDouble},
      {"c10::complex<c10::Half>", ComplexHalf},
      {"c10::Float8_e4m3fn", Float8_e4m3fn},
      {"c10::Float8_e4m3fnuz", Float8_e4m3fnuz},
      {"c10::Float8_e5m2", Float8_e5m2},
      {"c10::Float8_e5m2fnuz", Float8_e5m2fnuz},
  };
  return types;
}

c10::ScalarType scalar_type_of(std::string_view name) {
  const auto found = scalar_types().find(name);
  if (found == scalar_types().end()) {
    throw NotReplayable("tensors of type '" + foreign_text(name) + "' can't be rebuilt from a trace");
  }
  return found->second;
}

std::vector<int64_t> sizes_of(const json& list, std::string_view what) {
  if (!list.is_array() || list.size() > kMaxRank) {
    throw BadTrace(std::string(what) + " is no list of at most 64 integers");
  }
  std::vector<int64_t> sizes;
  for (const json& item : list) {
    sizes.push_back(integer_of(item, what));
    if (sizes.back() < 0) {
      throw BadTrace(std::string(what) + " has the negative value " + std::to_string(sizes.back()));
    }
  }
  return sizes;
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    // Checked against the number of elements by the caller, so this can't overflow for a tensor with data.
    if (c10::mul_overflows(strides[i], std::max<int64_t>(sizes[i], 1), &strides[i - 1])) {
      throw BadTrace("the shape has more elements than 64 bits count");
    }
  }
  return strides;
}

// Throws BadTrace unless sizes, strides, offset and element size stay in 64 bits and agree with `numel`.
void check_layout(const TensorRecord& tensor, int64_t numel, int64_t itemsize) {
  if (tensor.strides.size() != tensor.sizes.size()) {
    throw BadTrace("a tensor has " + std::to_string(tensor.sizes.size()) + " sizes and " +
                   std::to_string(tensor.strides.size()) + " strides");
  }
  int64_t product = 1;
  int64_t extent = tensor.offset;
  bool overflow = false;
  for (size_t i = 0; i < tensor.sizes.size(); ++i) {
    int64_t reach = 0;
    overflow |= c10::mul_overflows(product, tensor.sizes[i], &product);
    overflow |= c10::mul_overflows(std::max<int64_t>(tensor.sizes[i] - 1, 0), tensor.strides[i], &reach);
    overflow |= c10::add_overflows(extent, reach, &extent);
  }
  overflow |= c10::add_overflows(extent, int64_t{1}, &extent) || c10::mul_overflows(extent, itemsize, &extent);
  if (overflow) {
    throw BadTrace("a tensor's sizes, strides and offset reach beyond 64 bits");
  }
  if (product != numel) {
    throw BadTrace("a tensor claims " + std::to_string(numel) + " elements, but its shape has " +
                   std::to_string(product));
  }
}

}  // namespace

int64_t integer_of(const json& value, std::string_view what) {
  const bool fits = value.is_number_unsigned()
                        ? value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())
                        : value.is_number_integer();
  if (!fits) {
    throw BadTrace(std::string(what) + " is no 64-bit integer");
  }
  return value.get<int64_t>();
}

Value tensor_of(const json& value, const json& shape, const json& strides, std::string_view type) {
  const std::string_view dtype = type.substr(7, type.size() - 8);  // between "Tensor(" and ")"
  if (dtype.starts_with("nullptr")) {
    return {};
  }
  if (!value.is_array() || value.size() != 6 || !value[5].is_string()) {
    throw BadTrace("a tensor is not written as [id, storage, offset, numel, itemsize, device]");
  }
  TensorRecord tensor;
  tensor.dtype = scalar_type_of(dtype);
  tensor.tensor_id = integer_of(value[0], "a tensor's id");
  tensor.storage_id = integer_of(value[1], "a tensor's storage");
  tensor.offset = integer_of(value[2], "a tensor's offset");
  const int64_t numel = integer_of(value[3], "a tensor's number of elements");
  const int64_t itemsize = integer_of(value[4], "a tensor's item size");
  tensor.sizes = sizes_of(shape, "a tensor's shape");
  if (value[5].get_ref<const std::string&>().empty() && itemsize == 0) {
    throw NotReplayable("a trace doesn't describe tensors without a storage (sparse, symbolic or nested ones)");
  }
  if (itemsize != static_cast<int64_t>(c10::elementSize(tensor.dtype))) {
    throw BadTrace("a tensor of type " + foreign_text(dtype) + " claims " + std::to_string(itemsize) +
                   " bytes an element");
  }
  if (tensor.offset < 0) {
    throw BadTrace("a tensor's offset is negative");
  }
  tensor.strides = strides.is_null() ? contiguous_strides(tensor.sizes) : sizes_of(strides, "a tensor's strides");
  check_layout(tensor, numel, itemsize);
  return {std::move(tensor)};
}

}  // namespace flagos::diag
