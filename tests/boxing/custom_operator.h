// Operators of the tests' own, boxed by the same Kernel as aten's.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/library.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/op_kernel.h"

namespace flagos::testing {

// Derive: struct Op : CustomOperator<Op, at::Tensor(const at::Tensor&)> with name, overload_name and schema_str as
// at::_ops structs have them, and `static R target(Args...)`, the target's kernel.
template <class Op, class Schema>
struct CustomOperator;

template <class Op, class R, class... Args>
struct CustomOperator<Op, R(Args...)> {
  using schema = R(Args...);
  static R call(Args... args) { return handle().call(std::forward<Args>(args)...); }
  static c10::TypedOperatorHandle<schema> handle() {
    static auto found =
        c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name).template typed<schema>();
    return found;
  }
};

// Registrations live as long as the process, and leak checkers find them here.
inline torch::Library* keep(std::unique_ptr<torch::Library> library) {
  static auto* libraries = new std::vector<std::unique_ptr<torch::Library>>();
  return libraries->emplace_back(std::move(library)).get();
}

// Defines Op, gives it its target's kernel and the boxing kernel. Once a process; lives as long as the process.
template <class Op, kernel::OpPolicy Policy = kernel::OpPolicy{}>
void register_custom_operator() {
  static const bool once = [] {
    auto* library = keep(
        std::make_unique<torch::Library>(torch::Library::FRAGMENT, "flagos_test", std::nullopt, __FILE__, __LINE__));
    library->def(Op::schema_str);
    auto* target_impl = keep(
        std::make_unique<torch::Library>(torch::Library::IMPL, "flagos_test", target().dense_key, __FILE__, __LINE__));
    target_impl->impl(Op::name, torch::CppFunction::makeFromUnboxedFunction(&Op::target));
    const auto handle = c10::Dispatcher::singleton().findSchemaOrThrow(Op::name, Op::overload_name);
    const kernel::RegisteredOp op = kernel::registered_op<Op, Policy>();
    const auto& context = kernel::add_context(handle, KernelKind::kBoxed, Policy);
    kernel::register_kernel(context, op.make_kernel(context, op.full_dispatch));
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace flagos::testing
