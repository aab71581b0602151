#include "traces/exact_repeats.h"

#include <cstdio>
#include <unordered_map>

namespace flagos::diag {
namespace {

class KeyWriter {
 public:
  void add(const Value& value) {
    std::visit([this](const auto& data) { write(data); }, value.data);
  }

  std::string take() && { return std::move(key_); }

 private:
  void write(std::monostate) { key_ += 'n'; }
  void write(bool value) { key_ += value ? 't' : 'f'; }
  void write(int64_t value) { key_ += 'i' + std::to_string(value) + ';'; }

  void write(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "d%a;", value);  // hexadecimal: exact, and no two numbers alike
    key_ += text;
  }

  // The length comes first, so that no text can look like the end of one and the beginning of another value.
  void write(const std::string& value) { key_ += 's' + std::to_string(value.size()) + ':' + value; }

  void write(const std::vector<Value>& values) {
    key_ += '[';
    for (const Value& value : values) {
      add(value);
    }
    key_ += ']';
  }

  void write(const TensorRecord& tensor) {
    key_ += 'T' + std::to_string(static_cast<int>(tensor.dtype)) + '@' + std::to_string(name_of(tensor.storage_id));
    key_ += '+' + std::to_string(tensor.offset);
    for (size_t i = 0; i < tensor.sizes.size(); ++i) {
      key_ += ',' + std::to_string(tensor.sizes[i]) + '/' + std::to_string(tensor.strides[i]);
    }
    if (tensor.range.has_value()) {
      key_ += '~' + std::to_string(tensor.range->first) + '_' + std::to_string(tensor.range->second);
    }
    key_ += ';';
  }

  size_t name_of(int64_t storage) { return names_.try_emplace(storage, names_.size()).first->second; }

  std::string key_;
  std::unordered_map<int64_t, size_t> names_;  // storages in the order in which they appear
};

}  // namespace

std::string repeat_key(const CallRecord& call) {
  KeyWriter writer;
  for (const Value& argument : call.arguments) {
    writer.add(argument);
  }
  return call.op + '|' + std::move(writer).take();
}

}  // namespace flagos::diag
