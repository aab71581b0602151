#include <ATen/core/op_registration/infer_schema.h>
#include <c10/util/Exception.h>

#include <memory>
#include <string>
#include <utility>

#include "device/target_constants.h"
#include "flagos/routes.h"

namespace flagos {
namespace {

using c10::DispatchKey;

// Below autograd, as the kernel whose place it takes. Where `to` has a kernel for the target alone, that of PrivateUse1
// is libflagos's fallback, which boxes the call.
class NamespaceKernel final : public c10::OperatorKernel {
 public:
  explicit NamespaceKernel(c10::OperatorHandle to) : to_(to) {}
  void operator()(const c10::OperatorHandle& /*op*/, c10::DispatchKeySet /*keys*/, torch::jit::Stack* stack) const {
    to_.redispatchBoxed(c10::DispatchKeySet(DispatchKey::PrivateUse1), stack);
  }

 private:
  c10::OperatorHandle to_;
};

void check_schemas(const c10::FunctionSchema& from, const c10::FunctionSchema& to) {
  std::string difference = c10::findSchemaDifferences(to, from).value_or("");
  for (size_t i = 0; difference.empty() && i < from.arguments().size(); ++i) {
    if (from.is_mutable({c10::SchemaArgType::input, i}) != to.is_mutable({c10::SchemaArgType::input, i})) {
      difference = "argument " + from.arguments()[i].name() + " is written to by one of them alone.";
    }
  }
  TORCH_CHECK(difference.empty(), "flagos: ", from.operator_name(), " can't go to ", to.operator_name(),
              ", whose schema is another one: ", difference, " Its schema must be that of ", from, ".");
}

}  // namespace

KernelProvider namespace_kernels(std::string_view name_space) {
  return [prefix = std::string(name_space) + "::"](const c10::OperatorHandle& op) -> c10::KernelFunction {
    const std::string& name = op.operator_name().name;  // "aten::add"
    const std::string bare = name.substr(name.find("::") + 2);
    const auto to = c10::Dispatcher::singleton().findSchema({prefix + bare, op.operator_name().overload_name});
    if (!to.has_value() || !(to->hasComputedKernelForDispatchKey(target().dense_key) ||
                             to->hasKernelForDispatchKey(DispatchKey::PrivateUse1))) {
      return {};
    }
    check_schemas(op.schema(), to->schema());
    return c10::KernelFunction::makeFromBoxedFunctor(std::make_unique<NamespaceKernel>(*to));
  };
}

}  // namespace flagos
