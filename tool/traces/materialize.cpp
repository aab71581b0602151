// materialize(): recorded values to the IValues that the schema's types ask for.
#include <ATen/ATen.h>
#include <ATen/core/List.h>
#include <ATen/core/jit_type.h>

#include <stdexcept>

#include "traces/argument_source.h"
#include "traces/recorded_storage.h"

namespace flagos::diag {
namespace {

using c10::IValue;
using c10::TypeKind;

// A trace says that a number was complex, not which; this one has both parts and an absolute value below one.
constexpr c10::complex<double> kComplexStandIn{0.5, 0.25};

struct WrongValue : std::runtime_error {
  using std::runtime_error::runtime_error;
};

bool has_tensor(const std::vector<Value>& values) {
  for (const Value& value : values) {
    const auto* items = std::get_if<std::vector<Value>>(&value.data);
    if (std::holds_alternative<TensorRecord>(value.data) || (items != nullptr && has_tensor(*items))) {
      return true;
    }
  }
  return false;
}

// Builds the arguments of one call.
class Builder {
 public:
  Builder(const std::vector<Value>& values, const MaterializeOptions& options)
      : storages_(values, options), device_(options.device), factory_(!has_tensor(values)) {}

  IValue build(const Value& value, const c10::Argument& argument) {
    const c10::Type& type = *argument.type();
    const bool none = std::holds_alternative<std::monostate>(value.data);
    if (none && wants_device(type) && factory_) {
      return device_;  // "wherever the default is" would be the CPU, not the device under test
    }
    return build(value, type, argument.N());
  }

 private:
  static bool wants_device(const c10::Type& type) {
    const auto* optional = type.castRaw<c10::OptionalType>();
    return (optional != nullptr ? optional->getElementType()->kind() : type.kind()) == TypeKind::DeviceObjType;
  }

  IValue build(const Value& value, const c10::Type& type, std::optional<int32_t> length) {
    if (const auto* optional = type.castRaw<c10::OptionalType>()) {
      const bool none = std::holds_alternative<std::monostate>(value.data);
      return none ? IValue() : build(value, *optional->getElementType(), length);
    }
    if (const auto* list = type.castRaw<c10::ListType>()) {
      return build_list(value, *list, length);
    }
    switch (type.kind()) {
      case TypeKind::TensorType:
        return tensor(value);
      case TypeKind::NumberType:
        return number(value);
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return get<int64_t>(value, "an integer");
      case TypeKind::BoolType:
      case TypeKind::SymBoolType:
        return boolean(value);
      case TypeKind::FloatType:
      case TypeKind::SymFloatType:
        return floating(value);
      case TypeKind::StringType:
        return get<std::string>(value, "text");
      case TypeKind::DeviceObjType:
        return device_;
      case TypeKind::GeneratorType:
        return IValue();  // the device's default one; a trace doesn't keep its state
      default:
        throw WrongValue("arguments of type " + type.str() + " can't be rebuilt from a trace");
    }
  }

  template <typename T>
  static const T& get(const Value& value, const char* wanted) {
    const T* data = std::get_if<T>(&value.data);
    if (data == nullptr) {
      throw WrongValue(std::string("the schema wants ") + wanted + ", the record has something else");
    }
    return *data;
  }

  at::Tensor tensor(const Value& value) const {
    if (std::holds_alternative<std::monostate>(value.data)) {
      return {};  // undefined, which is how C++ spells an absent tensor
    }
    return storages_.tensor(get<TensorRecord>(value, "a tensor"));
  }

  static IValue number(const Value& value) {
    if (const auto* integer = std::get_if<int64_t>(&value.data)) {
      return *integer;
    }
    if (const auto* flag = std::get_if<bool>(&value.data)) {
      return *flag;
    }
    const auto* text = std::get_if<std::string>(&value.data);
    if (text != nullptr && *text == "<ComplexDouble>") {
      return kComplexStandIn;
    }
    return get<double>(value, "a number");
  }

  static double floating(const Value& value) {
    const auto* integer = std::get_if<int64_t>(&value.data);
    return integer != nullptr ? static_cast<double>(*integer) : get<double>(value, "a floating-point number");
  }

  static bool boolean(const Value& value) {
    const auto* integer = std::get_if<int64_t>(&value.data);
    return integer != nullptr ? *integer != 0 : get<bool>(value, "a bool");
  }

  template <typename T, typename Convert>
  static IValue list_of(const std::vector<Value>& items, Convert convert) {
    c10::List<T> list;
    list.reserve(items.size());
    for (const Value& item : items) {
      list.push_back(convert(item));
    }
    return list;
  }

  IValue build_list(const Value& value, const c10::ListType& type, std::optional<int32_t> length) {
    const c10::Type& element = *type.getElementType();
    const auto* recorded = std::get_if<std::vector<Value>>(&value.data);
    // int[2] accepts a single 3 as [3, 3].
    const auto& items =
        recorded != nullptr ? *recorded : std::vector<Value>(static_cast<size_t>(length.value_or(1)), value);
    switch (element.kind()) {
      case TypeKind::TensorType:
        return list_of<at::Tensor>(items, [this](const Value& v) { return tensor(v); });
      case TypeKind::IntType:
      case TypeKind::SymIntType:
        return list_of<int64_t>(items, [](const Value& v) { return get<int64_t>(v, "an integer"); });
      case TypeKind::FloatType:
        return list_of<double>(items, floating);
      case TypeKind::BoolType:
        return list_of<bool>(items, boolean);
      case TypeKind::NumberType:
        return list_of<at::Scalar>(items, [](const Value& v) { return number(v).toScalar(); });
      case TypeKind::StringType:
        return list_of<std::string>(items, [](const Value& v) { return get<std::string>(v, "text"); });
      case TypeKind::OptionalType:
        return optional_tensors(items, element);
      default:
        throw WrongValue("lists of " + element.str() + " can't be rebuilt from a trace");
    }
  }

  IValue optional_tensors(const std::vector<Value>& items, const c10::Type& element) const {
    const auto& inner = element.expectRef<c10::OptionalType>().getElementType();
    if (inner->kind() != TypeKind::TensorType) {
      throw WrongValue("lists of " + element.str() + " can't be rebuilt from a trace");
    }
    return list_of<std::optional<at::Tensor>>(items, [this](const Value& v) {
      const at::Tensor made = tensor(v);
      return made.defined() ? std::optional(made) : std::nullopt;
    });
  }

  RecordedStorages storages_;
  c10::Device device_;
  bool factory_;
};

// What an argument gets that the trace leaves out.
Value no_value() { return {}; }

}  // namespace

std::vector<IValue> materialize(const CallRecord& call, const c10::OperatorHandle& op,
                                const MaterializeOptions& options) {
  const auto& wanted = op.schema().arguments();
  const auto fail = [&](const std::string& subject, const std::string& cause) {
    return std::runtime_error(call.op + (subject.empty() ? "" : ", argument '" + subject + "'") + ": " + cause + " (" +
                              (call.origin.empty() ? "no origin" : call.origin) + ")");
  };
  if (call.arguments.size() > wanted.size()) {
    throw fail("", "has " + std::to_string(call.arguments.size()) + " recorded arguments, the schema takes " +
                       std::to_string(wanted.size()));
  }
  std::vector<IValue> made;
  made.reserve(wanted.size());
  std::string subject;
  try {
    Builder builder(call.arguments, options);
    for (size_t i = 0; i < wanted.size(); ++i) {
      subject = wanted[i].name();
      if (i < call.arguments.size()) {
        made.push_back(builder.build(call.arguments[i], wanted[i]));
      } else if (wanted[i].default_value().has_value() && !wanted[i].default_value()->isNone()) {
        made.push_back(*wanted[i].default_value());
      } else if (wanted[i].default_value().has_value() || wanted[i].type()->kind() == TypeKind::OptionalType) {
        made.push_back(builder.build(no_value(), wanted[i]));
      } else {
        throw WrongValue("was not recorded and has no default");
      }
    }
  } catch (const c10::Error& error) {
    throw fail(subject, error.what_without_backtrace());
  } catch (const std::runtime_error& error) {
    throw fail(subject, error.what());
  }
  return made;
}

}  // namespace flagos::diag
