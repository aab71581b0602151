#include "traces/call_text.h"

#include <c10/core/ScalarType.h>
#include <c10/core/ScalarTypeToTypeMeta.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <stdexcept>

#include "traces/trace_node.h"

namespace flagos::diag {
namespace {

using nlohmann::json;

// The four columns of a trace; in a list each is a list itself.
struct Columns {
  json values = json::array();
  json shapes = json::array();
  json strides = json::array();
  std::vector<std::string> types{};
};

class ColumnWriter {
 public:
  Columns write(const std::vector<Value>& arguments) {
    Columns columns;
    for (const Value& argument : arguments) {
      std::visit([&](const auto& data) { add(columns, data); }, argument.data);
    }
    return columns;
  }
  const json& ranges() const { return ranges_; }
  bool contiguous() const { return contiguous_; }

 private:
  static void add(Columns& columns, json value, const char* type) {
    columns.values.push_back(std::move(value));
    columns.shapes.push_back(json::array());
    columns.strides.push_back(json::array());
    columns.types.emplace_back(type);
  }

  static void add(Columns& columns, std::monostate /*none*/) { add(columns, nullptr, "None"); }
  static void add(Columns& columns, bool value) { add(columns, value, "Bool"); }
  static void add(Columns& columns, int64_t value) { add(columns, value, "Int"); }
  static void add(Columns& columns, const std::string& value) { add(columns, value, "String"); }
  static void add(Columns& columns, double value) {
    // As the observer writes what JSON has no number for.
    const char* sign = std::signbit(value) ? "-" : "";
    add(columns, std::isfinite(value) ? json(value) : json(std::string(sign) + (std::isnan(value) ? "nan" : "inf")),
        "Double");
  }

  void add(Columns& columns, const std::vector<Value>& items) {
    const Columns inner = write(items);
    columns.values.push_back(inner.values);
    columns.shapes.push_back(inner.shapes);
    columns.strides.push_back(inner.strides);
    std::string types;
    for (const auto& type : inner.types) {
      types += (types.empty() ? "" : ",") + type;
    }
    columns.types.push_back("GenericList[" + types + "]");
  }

  void add(Columns& columns, const TensorRecord& tensor) {
    const int64_t numel =
        std::accumulate(tensor.sizes.begin(), tensor.sizes.end(), int64_t{1}, std::multiplies<int64_t>());
    columns.values.push_back({number_of(tensors_, tensor.tensor_id), number_of(storages_, tensor.storage_id),
                              tensor.offset, numel, static_cast<int64_t>(c10::elementSize(tensor.dtype)), "cpu"});
    columns.shapes.push_back(tensor.sizes);
    columns.strides.push_back(tensor.strides);
    columns.types.push_back("Tensor(" + std::string(c10::scalarTypeToTypeMeta(tensor.dtype).name()) + ")");
    if (tensor.range.has_value()) {
      ranges_[std::to_string(count_)] = {tensor.range->first, tensor.range->second};
    }
    ++count_;
    contiguous_ &= is_contiguous(tensor);
  }

  using Numbers = std::map<int64_t, int64_t>;

  // Ids of a long trace say nothing here: from 1, in the order in which they appear.
  static int64_t number_of(Numbers& numbers, int64_t id) {
    return numbers.try_emplace(id, static_cast<int64_t>(numbers.size()) + 1).first->second;
  }

  static bool is_contiguous(const TensorRecord& tensor) {
    int64_t stride = 1;
    for (size_t i = tensor.sizes.size(); i-- > 0;) {
      if (tensor.strides[i] != stride) {
        return false;
      }
      stride *= std::max<int64_t>(tensor.sizes[i], 1);
    }
    return true;
  }

  json ranges_ = json::object();
  Numbers tensors_;
  Numbers storages_;
  int count_ = 0;
  bool contiguous_ = true;
};

}  // namespace

std::string call_text(const CallRecord& call) {
  ColumnWriter writer;
  const Columns columns = writer.write(call.arguments);
  json text = {{"values", columns.values}, {"shapes", columns.shapes}, {"types", columns.types}};
  if (!writer.contiguous()) {
    text["strides"] = columns.strides;
  }
  if (!writer.ranges().empty()) {
    text["tensor_range"] = writer.ranges();
  }
  return text.dump();
}

CallRecord call_of_text(const std::string& op, std::string_view text) {
  json inputs = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!inputs.is_object()) {
    throw std::runtime_error("they are no JSON object");
  }
  json attributes = json::array();
  attributes.push_back({{"name", "op_schema"}, {"value", op + "("}});
  if (const auto ranges = inputs.find("tensor_range"); ranges != inputs.end()) {
    attributes.push_back({{"name", "tensor_range"}, {"value", ranges->is_string() ? *ranges : json(ranges->dump())}});
    inputs.erase(ranges);
  }
  const json node = {{"attrs", std::move(attributes)}, {"inputs", std::move(inputs)}};
  auto call = call_of_node(node);
  if (!call.has_value()) {
    throw std::runtime_error("there is no operator " + op);
  }
  call->origin = "--args";
  return std::move(*call);
}

}  // namespace flagos::diag
