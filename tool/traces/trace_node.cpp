#include "traces/trace_node.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdlib>
#include <string_view>
#include <vector>

#include "report/foreign_text.h"
#include "traces/trace_tensor.h"

namespace flagos::diag {
namespace {

using nlohmann::json;

constexpr size_t kListsAreCutAfter = 4096;  // kMaxNumElements in PyTorch's execution_trace_observer.cpp
constexpr int kMaxListDepth = 8;            // no operator takes a list of lists of lists

// The element types in "GenericList[Tensor(c10::complex<float>),None]".
std::vector<std::string_view> element_types(std::string_view type) {
  const size_t open = type.find('[');
  if (open == std::string_view::npos || !type.ends_with(']')) {
    throw BadTrace("the list type '" + foreign_text(type) + "' has no closed bracket");
  }
  const std::string_view inner = type.substr(open + 1, type.size() - open - 2);
  std::vector<std::string_view> types;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < inner.size(); ++i) {
    const char c = inner[i];
    depth += (c == '(' || c == '[' || c == '<') - (c == ')' || c == ']' || c == '>');
    if (c == ',' && depth == 0) {
      types.push_back(inner.substr(start, i - start));
      start = i + 1;
    }
  }
  if (!inner.empty()) {
    types.push_back(inner.substr(start));
  }
  return types;
}

Value double_of(const json& value) {
  if (value.is_number()) {
    return {value.get<double>()};
  }
  // JSON has no infinities and no NaN, so the observer writes "inf", "-inf", "nan" and "-nan".
  const std::string text = value.is_string() ? value.get<std::string>() : "";
  if (text != "inf" && text != "-inf" && text != "nan" && text != "-nan") {
    throw BadTrace("an argument of type Double is no number");
  }
  return {std::strtod(text.c_str(), nullptr)};
}

Value value_of(const json& value, const json& shape, const json& strides, std::string_view type, int depth);

const json& item_of(const json& list, size_t index) {
  static const json none;
  return list.is_null() ? none : list[index];
}

Value list_of(const json& values, const json& shapes, const json& strides, std::string_view type, int depth) {
  const std::vector<std::string_view> types = element_types(type);
  const bool strides_fit = strides.is_null() || (strides.is_array() && strides.size() == types.size());
  if (!values.is_array() || values.size() != types.size() || !shapes.is_array() || shapes.size() != types.size() ||
      !strides_fit) {
    throw BadTrace("a list has another number of values than of types, shapes or strides");
  }
  if (types.size() > kListsAreCutAfter) {
    throw NotReplayable("lists of more than 4096 elements are cut short in a trace");
  }
  if (depth > kMaxListDepth) {
    throw BadTrace("lists are nested more than 8 deep");
  }
  std::vector<Value> items;
  items.reserve(types.size());
  for (size_t i = 0; i < types.size(); ++i) {
    items.push_back(value_of(values[i], shapes[i], item_of(strides, i), types[i], depth + 1));
  }
  return {std::move(items)};
}

Value value_of(const json& value, const json& shape, const json& strides, std::string_view type, int depth) {
  if (type.starts_with("Tensor(") && type.ends_with(')')) {
    return tensor_of(value, shape, strides, type);
  }
  if (type.starts_with("GenericList[") || type.starts_with("Tuple[")) {
    return list_of(value, shape, strides, type, depth);
  }
  if (type == "None") {
    return {};
  }
  if (type == "Int" || type == "SymInt") {
    if (value.is_string()) {
      throw NotReplayable("symbolic sizes have no value in a trace");
    }
    return {integer_of(value, "an argument of type Int")};
  }
  if (type == "Double") {
    return double_of(value);
  }
  if (type == "Bool" && value.is_boolean()) {
    return {value.get<bool>()};
  }
  if (value.is_string()) {  // String, Device, and "<Generator>", "<ComplexDouble>" and the like, which have no value
    return {value.get<std::string>()};
  }
  throw BadTrace("an argument of type '" + foreign_text(type) + "' has a value of another type");
}

std::string text_attribute(const json& node, std::string_view name) {
  const auto attributes = node.find("attrs");
  if (attributes == node.end() || !attributes->is_array()) {
    return {};
  }
  for (const json& attribute : *attributes) {
    if (attribute.is_object() && attribute.value("name", json()) == name) {
      const auto value = attribute.find("value");
      return value != attribute.end() && value->is_string() ? value->get<std::string>() : std::string();
    }
  }
  return {};
}

// 0, which is no node's, where it isn't told.
int64_t number_of(const json& node, const char* name) {
  const auto number = node.find(name);
  return number != node.end() && !number->is_null() ? integer_of(*number, "its \"" + std::string(name) + '"') : 0;
}

// Tensors in the order in which the trace numbers their ranges: by argument, undefined ones counted.
void number_tensors(const json& types, std::vector<Value>& values, std::vector<TensorRecord*>& tensors) {
  for (size_t i = 0; i < values.size(); ++i) {
    auto& data = values[i].data;
    const std::string_view type = types[i].get_ref<const std::string&>();
    if (type.starts_with("Tensor(")) {
      tensors.push_back(std::get_if<TensorRecord>(&data));
    } else if (auto* items = std::get_if<std::vector<Value>>(&data)) {
      json inner = json::array();
      for (const std::string_view element : element_types(type)) {
        inner.push_back(element);
      }
      number_tensors(inner, *items, tensors);
    }
  }
}

// "tensor_range": {"1":[0,2]} as text inside the JSON; the least and greatest value of the tensor of that number.
void add_ranges(const std::string& text, const json& types, std::vector<Value>& arguments) {
  const json ranges = text.empty() ? json::object() : json::parse(text, nullptr, false);
  if (!ranges.is_object()) {
    throw BadTrace("its tensor_range is no JSON object");
  }
  std::vector<TensorRecord*> tensors;
  number_tensors(types, arguments, tensors);
  for (const auto& [number, range] : ranges.items()) {
    const size_t place = std::strtoull(number.c_str(), nullptr, 10);
    if (place >= tensors.size() || !range.is_array() || range.size() != 2) {
      throw BadTrace("its tensor_range names tensor " + foreign_text(number, 20) + " wrongly");
    }
    const int64_t low = integer_of(range[0], "a tensor_range");
    const int64_t high = integer_of(range[1], "a tensor_range");
    if (low > high) {
      throw BadTrace("its tensor_range has a least value above the greatest");
    }
    if (tensors[place] != nullptr) {
      tensors[place]->range = {low, high};
    }
  }
}

void check_operator(const CallRecord& call, size_t arguments) {
  const size_t dot = call.op.find('.');
  const std::string overload = dot == std::string::npos ? "" : call.op.substr(dot + 1);
  const auto handle = c10::Dispatcher::singleton().findSchema({call.op.substr(0, dot), overload});
  if (!handle.has_value()) {
    throw NotReplayable("this torch has no operator " + foreign_text(call.op));
  }
  if (arguments > handle->schema().arguments().size()) {
    throw NotReplayable("this torch's " + call.op + " takes fewer arguments than were recorded");
  }
}

}  // namespace

std::optional<CallRecord> call_of_node(const json& node) {
  const std::string schema = text_attribute(node, "op_schema");
  if (schema.empty()) {
    return std::nullopt;
  }
  CallRecord call;
  call.op = schema.substr(0, schema.find('('));
  const auto inputs = node.find("inputs");
  if (inputs == node.end() || !inputs->is_object()) {
    throw BadTrace("it has no inputs");
  }
  const json values = inputs->value("values", json());
  const json shapes = inputs->value("shapes", json());
  const json types = inputs->value("types", json());
  const json strides = inputs->value("strides", json());
  const bool fits = values.is_array() && shapes.is_array() && types.is_array() && shapes.size() == values.size() &&
                    types.size() == values.size() &&
                    (strides.is_null() || (strides.is_array() && strides.size() == values.size()));
  if (!fits) {
    throw BadTrace("its inputs have another number of values than of shapes, types or strides");
  }
  check_operator(call, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    if (!types[i].is_string()) {
      throw BadTrace("the type of argument " + std::to_string(i) + " is no text");
    }
    const std::string& type = types[i].get_ref<const std::string&>();
    call.arguments.push_back(value_of(values[i], shapes[i], item_of(strides, i), type, 0));
  }
  add_ranges(text_attribute(node, "tensor_range"), types, call.arguments);
  call.node = number_of(node, "id");
  call.parent = number_of(node, "ctrl_deps");
  return call;
}

}  // namespace flagos::diag
