#include "verify/recorded_values.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <variant>

namespace flagos::diag {
namespace {

struct SameData {
  const Value& other;
  template <class T>
  bool operator()(const T& data) const {
    const T* with = std::get_if<T>(&other.data);
    return with != nullptr && data == *with;
  }
  bool operator()(std::monostate /*none*/) const { return std::holds_alternative<std::monostate>(other.data); }
  bool operator()(const TensorRecord& /*record*/) const { return false; }
  bool operator()(const Values& items) const {
    const auto* with = std::get_if<Values>(&other.data);
    return with != nullptr && std::equal(items.begin(), items.end(), with->begin(), with->end(), same_value);
  }
};

template <class List>
Values values_of(const List& list) {
  Values values;
  for (const auto item : list) {
    values.push_back({item});
  }
  return values;
}

}  // namespace

void visit_values(Values& values, const std::function<void(Value&)>& change) {
  for (Value& value : values) {
    change(value);
    if (auto* items = std::get_if<Values>(&value.data)) {
      visit_values(*items, change);
    }
  }
}

void visit_records(Values& values, const std::function<void(TensorRecord&)>& change) {
  visit_values(values, [&](Value& value) {
    if (auto* record = std::get_if<TensorRecord>(&value.data)) {
      change(*record);
    }
  });
}

std::vector<int64_t> contiguous_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) {
    strides[i - 1] = strides[i] * std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool is_contiguous(const TensorRecord& record) { return record.strides == contiguous_strides(record.sizes); }

void resize_record(TensorRecord& record, std::vector<int64_t> sizes) {
  const bool contiguous = is_contiguous(record);
  record.sizes = std::move(sizes);
  if (contiguous) {
    record.strides = contiguous_strides(record.sizes);
  }
}

void drop_dimension(TensorRecord& record, size_t dimension) {
  const bool contiguous = is_contiguous(record);
  record.sizes.erase(record.sizes.begin() + static_cast<std::ptrdiff_t>(dimension));
  record.strides.erase(record.strides.begin() + static_cast<std::ptrdiff_t>(dimension));
  if (contiguous) {
    record.strides = contiguous_strides(record.sizes);
  }
}

bool same_value(const Value& a, const Value& b) { return std::visit(SameData{b}, a.data); }

std::optional<Value> default_value_of(const c10::Argument& argument) {
  const auto& value = argument.default_value();
  const bool optional = argument.type()->kind() == c10::TypeKind::OptionalType;
  if (!value.has_value()) {
    return optional ? std::optional(Value{}) : std::nullopt;
  }
  if (value->isNone()) {
    return Value{};
  }
  if (value->isBool()) {
    return Value{value->toBool()};
  }
  if (value->isInt()) {
    return Value{value->toInt()};
  }
  if (value->isDouble()) {
    return Value{value->toDouble()};
  }
  if (value->isIntList()) {
    return Value{values_of(value->toIntVector())};
  }
  return std::nullopt;
}

}  // namespace flagos::diag
