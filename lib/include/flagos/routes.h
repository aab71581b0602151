// Routes: a user's standing order for where one operator goes.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flagos/export.h"

namespace flagos {

// Backends that a route can name:
//   native    the fast path where the gate opens it: no route at all. "cuda" is another name for it.
//   dispatch  boxed, but never the fast path
//   cpu       on the CPU, by copies
//   flaggems, and any other name given to register_backend(): that backend's own kernel
//
// Routes come from FLAGOS_BACKEND_CONFIG and FLAGOS_OP_<name> when the library is loaded, and from the functions here.
// "cpu" and named backends take the place of the operator's kernel at DispatchKey::PrivateUse1 while they stand; calls
// with other layouts (sparse, quantized, nested) and operators without such a route are not affected.

struct Route {
  std::string op;        // "aten::add.Tensor"
  std::string backend;   // as listed above; never "native"
  std::string where;     // who ordered it: "routes.conf:3", "FLAGOS_OP_add__Tensor", "set_route"
  bool waiting = false;  // for register_backend(); until then the operator is native
};

// Returns a backend's kernel for `op`, boxed or unboxed, or KernelFunction() when it has none. The kernel is called
// with flagos tensors, below autograd.
using KernelProvider = std::function<c10::KernelFunction(const c10::OperatorHandle& op)>;

// Makes `name` a backend that routes can name, and sends the operators there whose routes have waited for it. Routes
// of the environment and of files wait for "flaggems"; any other name must be registered before a route names it.
// Throws c10::Error when the name is empty, has other characters than letters, digits, '_' and '-', or is taken; and,
// registering nothing, when a route that names one overload in full has waited and the backend has no kernel for it.
// Threads: as set_route().
FLAGOS_API void register_backend(std::string_view name, KernelProvider provider);

// A provider for backends whose kernels are operators of a library of their own (TORCH_LIBRARY(name_space, m), or
// torch.library in Python): aten::add.Tensor goes to name_space::add.Tensor where that is defined and has a kernel for
// the target or for PrivateUse1. One at the target's key is called as the target's own kernel would be, boxed, on the
// fast path where the gate opens it; one at PrivateUse1 is given the flagos tensors. The provider throws c10::Error
// when the two schemas have other arguments or results, or write to other arguments. The operator must stay defined as
// long as a route goes there. `name_space` is copied.
FLAGOS_API KernelProvider namespace_kernels(std::string_view name_space);

// Sends `op` to `backend`. `op` is one overload ("add.Tensor", "max.default") or a bare name, which means those of its
// overloads that can be sent there. A later order replaces an earlier one. Throws c10::Error, with nothing changed,
// naming the nearest valid name for an unknown operator or backend, or the reason when the operator can't go there:
// views, factories, operators that draw random numbers and those that copies are made of never go to the CPU, and what
// PyTorch makes of other operators goes nowhere.
// Threads: "native" and "dispatch" may be set at any time. "cpu" and named backends change the dispatcher's table,
// which it does not lock against calls: no other thread may call the operator meanwhile; nor when such a route is
// undone.
FLAGOS_API void set_route(std::string_view op, std::string_view backend);

// The backend that `op` ("add.Tensor", with or without "aten::") goes to; "native" without a route, and for one that
// waits. Throws c10::Error for an unknown operator. Any thread.
FLAGOS_API std::string route(std::string_view op);

// The routes there are, sorted by operator. Any thread.
FLAGOS_API std::vector<Route> routes();

// Undoes all routes, whoever set them. Threads: as set_route().
FLAGOS_API void clear_routes();

// What the route file `file` orders, sorted by operator, and nothing done about it. Throws c10::Error naming file, line
// and the nearest valid name for the first thing that is wrong. Any thread.
FLAGOS_API std::vector<Route> read_routes(const std::string& file);

// Sets the routes of a file, in addition to those there are. Throws as read_routes(), with nothing changed. Threads: as
// set_route().
FLAGOS_API void load_routes(const std::string& file);

}  // namespace flagos
