#include "verify/variants.h"

#include <ATen/ATen.h>
#include <ATen/FunctionalTensorWrapper.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <vector>

namespace flagos::diag {
namespace {

constexpr int64_t kOffsetElements = 3;
constexpr int64_t kSpecialPeriod = 7;  // odd: every lane of a vector meets every special value

// A copy with these strides, `offset` elements into a storage of its own whose gaps are 0.
at::Tensor copy_with(const at::Tensor& tensor, c10::IntArrayRef strides, int64_t offset) {
  int64_t extent = 1;
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    extent += std::max<int64_t>(tensor.size(i) - 1, 0) * strides[static_cast<size_t>(i)];
  }
  const at::Tensor storage = at::zeros({offset + extent}, tensor.options());
  at::Tensor copy = storage.as_strided(tensor.sizes(), strides, offset);
  copy.copy_(tensor);
  return copy;
}

bool overlaps(const at::Tensor& tensor) {
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) == 0) {
      return true;
    }
  }
  return false;
}

at::Tensor made_contiguous(const at::Tensor& tensor, bool /*mutated*/) { return tensor.contiguous(); }

at::Tensor transposed(const at::Tensor& tensor, bool /*mutated*/) {
  if (tensor.dim() < 2 || tensor.numel() < 2) {
    return tensor;
  }
  const at::Tensor turned = tensor.transpose(-1, -2).contiguous().transpose(-1, -2);
  return turned.strides() == tensor.strides() ? tensor : copy_with(tensor, turned.strides(), 0);
}

at::Tensor shifted(const at::Tensor& tensor, bool /*mutated*/) {
  if (tensor.numel() == 0 || overlaps(tensor)) {
    return tensor;
  }
  return copy_with(tensor, tensor.strides(), kOffsetElements);
}

// Of floating-point tensors only: integers may be offsets or lengths, which must stay in their order.
at::Tensor expanded(const at::Tensor& tensor, bool mutated) {
  if (mutated || !is_floating(tensor)) {
    return tensor;
  }
  for (int64_t i = 0; i < tensor.dim(); ++i) {
    if (tensor.size(i) > 1 && tensor.stride(i) != 0) {
      return tensor.narrow(i, 0, 1).clone().expand(tensor.sizes());
    }
  }
  return tensor;
}

at::Tensor channels_last(const at::Tensor& tensor, bool /*mutated*/) {
  if (tensor.dim() != 4 || tensor.numel() == 0 || tensor.is_contiguous(at::MemoryFormat::ChannelsLast)) {
    return tensor;
  }
  return tensor.contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor zero_dim(const at::Tensor& tensor, bool /*mutated*/) {
  return tensor.dim() == 0 || tensor.numel() == 0 ? tensor : tensor.reshape(-1)[0].clone();
}

template <class Bits>
void plant(at::Tensor& data, Bits sign, Bits infinity, Bits nan) {
  auto* bits = static_cast<Bits*>(data.mutable_data_ptr());
  const auto count = static_cast<int64_t>(data.nbytes() / sizeof(Bits));
  for (int64_t i = 0; i < count; ++i) {
    switch (i % kSpecialPeriod) {
      case 0:
        bits[i] = sign;
        break;  // -0.0
      case 2:
        bits[i] = nan;
        break;
      case 3:
        bits[i] = infinity;
        break;
      case 5:
        bits[i] = static_cast<Bits>(sign | infinity);
        break;
      default:
        break;
    }
  }
}

at::Tensor special(const at::Tensor& tensor, bool /*mutated*/) {
  if (!is_floating(tensor) || tensor.numel() == 0 || overlaps(tensor)) {
    return tensor;
  }
  at::Tensor data = tensor.clone(at::MemoryFormat::Contiguous);
  switch (c10::toRealValueType(tensor.scalar_type())) {
    case at::kDouble:
      plant<uint64_t>(data, 1ULL << 63, 0x7ff0000000000000, 0x7ff8000000001234);
      break;
    case at::kFloat:
      plant<uint32_t>(data, 1U << 31, 0x7f800000, 0x7fc01234);
      break;
    case at::kHalf:
      plant<uint16_t>(data, 1U << 15, 0x7c00, 0x7e12);
      break;
    case at::kBFloat16:
      plant<uint16_t>(data, 1U << 15, 0x7f80, 0x7fd2);
      break;
    default:
      return tensor;
  }
  return copy_with(data, tensor.strides(), 0);
}

at::Tensor conjugated(const at::Tensor& tensor, bool mutated) {
  return !mutated && tensor.is_complex() ? at::_conj(tensor) : tensor;
}

at::Tensor negated(const at::Tensor& tensor, bool mutated) {
  return !mutated && is_floating(tensor) ? at::_neg_view(tensor) : tensor;
}

using Change = at::Tensor (*)(const at::Tensor& tensor, bool mutated);

Change change_of(Variant variant) {
  switch (variant) {
    case Variant::kContiguous:
      return made_contiguous;
    case Variant::kTransposed:
      return transposed;
    case Variant::kOffset:
      return shifted;
    case Variant::kExpanded:
      return expanded;
    case Variant::kChannelsLast:
      return channels_last;
    case Variant::kZeroDim:
      return zero_dim;
    case Variant::kSpecial:
      return special;
    case Variant::kConj:
      return conjugated;
    case Variant::kNeg:
      return negated;
    default:
      return nullptr;
  }
}

std::map<const void*, size_t> storage_uses(const Stack& arguments) {
  std::map<const void*, size_t> uses;
  visit_tensors(arguments, [&](const at::Tensor& tensor) { ++uses[tensor.storage().unsafeGetStorageImpl()]; });
  return uses;
}

// The leading size of the first tensor that has one: tensors that have the same are cut together.
int64_t leading_size(const Stack& arguments) {
  int64_t size = 0;
  visit_tensors(arguments,
                [&](const at::Tensor& tensor) { size = size == 0 && tensor.dim() > 0 ? tensor.size(0) : size; });
  return size;
}

bool becomes_zero(const at::Tensor& tensor, bool mutated) { return !mutated && is_floating(tensor); }

// A factory has no tensor to be wrapped; under functionalization its result is.
bool has_tensor_for(Variant variant, Stack& arguments, const c10::FunctionSchema& schema) {
  bool found = variant == Variant::kFunctionalize && schema.argumentIndexWithName("device").has_value();
  change_tensors(arguments, schema, [&](const at::Tensor& tensor, bool mutated) {
    found |= variant == Variant::kFunctionalize || becomes_zero(tensor, mutated);
    return tensor;
  });
  return found;
}

struct Name {
  Variant variant;
  const char* text;
};

constexpr Name kNames[] = {{Variant::kAsRecorded, "as_recorded"},
                           {Variant::kContiguous, "contiguous"},
                           {Variant::kTransposed, "transposed"},
                           {Variant::kOffset, "offset"},
                           {Variant::kExpanded, "expanded"},
                           {Variant::kChannelsLast, "channels_last"},
                           {Variant::kEmpty, "empty"},
                           {Variant::kZeroDim, "zero_dim"},
                           {Variant::kSpecial, "special"},
                           {Variant::kConj, "conj"},
                           {Variant::kNeg, "neg"},
                           {Variant::kZeroTensor, "zerotensor"},
                           {Variant::kFunctionalize, "functionalize"}};

}  // namespace

const char* variant_name(Variant variant) noexcept {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& name) { return name.variant == variant; });
  return found != std::end(kNames) ? found->text : "";
}

std::optional<Variant> variant_of(std::string_view name) noexcept {
  const auto* found =
      std::find_if(std::begin(kNames), std::end(kNames), [&](const Name& each) { return each.text == name; });
  return found != std::end(kNames) ? std::optional(found->variant) : std::nullopt;
}

bool apply_variant(Variant variant, Stack& arguments, const c10::FunctionSchema& schema) {
  if (variant == Variant::kAsRecorded) {
    return true;
  }
  if (variant == Variant::kZeroTensor || variant == Variant::kFunctionalize) {
    return has_tensor_for(variant, arguments, schema);
  }
  const auto uses = storage_uses(arguments);
  const int64_t leading = leading_size(arguments);
  const Change change = change_of(variant);
  bool changed = false;
  change_tensors(arguments, schema, [&](const at::Tensor& tensor, bool mutated) {
    if (uses.at(tensor.storage().unsafeGetStorageImpl()) > 1) {
      return tensor;
    }
    at::Tensor result = tensor;
    if (change != nullptr) {
      result = change(tensor, mutated);
    } else if (tensor.dim() > 0 && tensor.size(0) == leading) {
      result = tensor.narrow(0, 0, 0).clone();
    }
    changed |= !result.is_same(tensor);
    return result;
  });
  return changed;
}

void apply_on_device(Variant variant, Stack& arguments, const c10::FunctionSchema& schema) {
  if (variant == Variant::kZeroTensor) {
    change_tensors(arguments, schema, [](const at::Tensor& tensor, bool mutated) {
      return becomes_zero(tensor, mutated) ? at::_efficientzerotensor(tensor.sizes(), tensor.options()) : tensor;
    });
  } else if (variant == Variant::kFunctionalize) {
    change_tensors(arguments, schema, [](const at::Tensor& tensor, bool /*mutated*/) {
      return at::functionalization::impl::to_functional_tensor(tensor);
    });
  }
}

bool handled_above_kernel(Variant variant) noexcept {
  return variant == Variant::kConj || variant == Variant::kNeg || variant == Variant::kZeroTensor ||
         variant == Variant::kFunctionalize;
}

}  // namespace flagos::diag
