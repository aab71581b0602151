#include "routes/plan.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <utility>

#include "device/environment.h"
#include "routes/backends.h"

namespace flagos::routing {
namespace {

std::vector<std::string> backend_names(const Providers& providers) {
  std::vector<std::string> names;
  for (const std::string_view name : {kNative, kNativeAlias, kDispatch, kCpu, kFlagGems}) {
    names.emplace_back(name);
  }
  for (const auto& [name, provider] : providers) {
    names.push_back(name);
  }
  return names;
}

[[noreturn]] void throw_unknown_operator(const Order& order, Spelling spelling, const std::string& nearest) {
  TORCH_CHECK(false, "flagos: ", order.where, ": no operator \"", printable(order.op),
              "\". Nearest: ", spelling == Spelling::kVariable ? "FLAGOS_OP_" : "", nearest, ".");
}

}  // namespace

std::string Planner::known_backend(const Order& order) const {
  if (order.backend == kNativeAlias) {
    return std::string(kNative);
  }
  const auto names = backend_names(providers_);
  TORCH_CHECK(std::find(names.begin(), names.end(), order.backend) != names.end(), "flagos: ", order.where,
              ": no backend \"", printable(order.backend), "\". Nearest: ", nearest_of(order.backend, names),
              "; there are ", c10::Join(", ", names), ", and what register_backend() adds.");
  return order.backend;
}

std::string Planner::refusal(PlannedRoute& route) const {
  if (route.backend == kNative) {
    return "";
  }
  if (route.backend == kDispatch) {
    return dispatch_refusal(route.op);
  }
  if (route.backend == kCpu) {
    return cpu_refusal(route.op);
  }
  const auto provider = providers_.find(route.backend);
  std::string refused = named_refusal(route.op);
  if (!refused.empty()) {
    return refused;
  }
  if (provider == providers_.end()) {
    route.waiting = unregistered_ == Unregistered::kWaits;
    return route.waiting ? "" : "nobody has registered that backend (flagos::register_backend)";
  }
  route.kernel = provider->second(route.op);
  return route.kernel.isValid() ? "" : "the backend has no kernel for it";
}

void Planner::add(const Order& order) {
  const auto& ops = names_.find(order.op);
  if (ops.empty()) {
    throw_unknown_operator(order, spelling_, names_.nearest(order.op));
  }
  const std::string backend = known_backend(order);
  std::string first_refusal;
  size_t accepted = 0;
  for (const c10::OperatorHandle& op : ops) {
    PlannedRoute route{op, backend, order.where, ops.size() > 1, false, {}};
    const std::string name = c10::toString(op.operator_name());
    const std::string refused = refusal(route);
    if (refused.empty()) {
      plan_.insert_or_assign(name, std::move(route));
      ++accepted;
    } else if (first_refusal.empty()) {
      first_refusal = c10::str(name, " can't go to ", backend, ": ", refused, ".");
    }
  }
  TORCH_CHECK(accepted != 0, "flagos: ", order.where, ": ", first_refusal);
}

void Planner::add_unordered(std::vector<Order> orders) {
  std::stable_sort(orders.begin(), orders.end(),
                   [&](const Order& a, const Order& b) { return names_.find(a.op).size() > names_.find(b.op).size(); });
  for (const Order& order : orders) {
    add(order);
  }
}

}  // namespace flagos::routing
