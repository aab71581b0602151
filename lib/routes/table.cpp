#include "routes/table.h"

#include <c10/util/Exception.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "device/environment.h"
#include "flagos/routes.h"
#include "routes/backends.h"
#include "routes/conf.h"
#include "routes/plan.h"

namespace flagos::routing {
namespace {

struct Table {
  std::mutex mutex;  // guards the rest; not held while a provider runs, which may ask about routes
  Plan standing;     // those that wait included, "native" not
  Providers providers;
};

// Never destroyed: operators may be called while the process exits.
Table& table() {
  static auto* instance = new Table();
  return *instance;
}

Providers registered_backends() {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return all.providers;
}

void send(const PlannedRoute& route) {
  if (route.backend == kNative || route.waiting) {
    to_native(route.op);
  } else if (route.backend == kDispatch) {
    to_dispatch(route.op);
  } else if (route.backend == kCpu) {
    to_cpu(route.op);
  } else {
    to_named(route.op, route.backend, route.kernel);
  }
}

// Under the table's lock.
void carry_out(Table& all, const std::string& name, PlannedRoute route) {
  const auto found = all.standing.find(name);
  const bool there_already = found == all.standing.end()
                                 ? route.backend == kNative
                                 : found->second.backend == route.backend && found->second.waiting == route.waiting;
  if (!there_already) {
    send(route);
  }
  if (route.backend != kNative) {
    route.kernel = {};  // the dispatcher has it
    all.standing.insert_or_assign(name, std::move(route));
  } else if (found != all.standing.end()) {
    all.standing.erase(found);
  }
}

void carry_out(Plan plan) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (auto& [name, route] : plan) {
    carry_out(all, name, std::move(route));
  }
}

std::vector<Route> listed(const Plan& plan) {
  std::vector<Route> listed;
  for (const auto& [name, route] : plan) {
    if (route.backend != kNative) {
      listed.push_back({name, route.backend, route.where, route.waiting});
    }
  }
  return listed;
}

Plan plan_of_file(const std::string& file, const std::string& from = "") {
  Planner planner(Spelling::kName, Unregistered::kWaits, registered_backends());
  for (const Order& order : read_conf(file, from)) {
    planner.add(order);
  }
  return planner.take();
}

void check_name(std::string_view name) {
  constexpr std::string_view kAllowed = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  TORCH_CHECK(!name.empty() && name.find_first_not_of(kAllowed) == std::string_view::npos,
              "flagos: a backend's name \"", printable(name), "\" must be of letters, digits, '_' and '-'.");
  const bool own = name == kNative || name == kNativeAlias || name == kDispatch || name == kCpu;
  TORCH_CHECK(!own && !registered_backends().contains(name), "flagos: there is a backend ", printable(name), " already",
              own ? "; it is the library's own." : ". Was the plugin loaded twice, or do two plugins share the name?");
}

// The routes that have waited for the backend. An overload that only a bare name stood for and that the backend has no
// kernel for becomes native.
Plan plan_of_waiting(std::string_view name, const KernelProvider& provider) {
  Table& all = table();
  Plan plan;
  {
    const std::lock_guard lock(all.mutex);
    std::copy_if(all.standing.begin(), all.standing.end(), std::inserter(plan, plan.end()),
                 [&](const auto& entry) { return entry.second.waiting && entry.second.backend == name; });
  }
  for (auto& [op, route] : plan) {
    route.waiting = false;
    route.kernel = provider(route.op);
    if (!route.kernel.isValid()) {
      TORCH_CHECK(route.one_of_several, "flagos: ", route.where, ": ", op, " can't go to ", name,
                  ": the backend has no kernel for it.");
      route.backend = kNative;
    }
  }
  return plan;
}

}  // namespace

void apply_environment() {
  const Environment& settings = environment();
  if (settings.backend_config.empty() && settings.op_routes.empty()) {
    return;
  }
  Plan plan = settings.backend_config.empty() ? Plan() : plan_of_file(settings.backend_config, "FLAGOS_BACKEND_CONFIG");
  Planner planner(Spelling::kVariable, Unregistered::kWaits, registered_backends());
  std::vector<Order> orders;
  for (const auto& [op, backend] : settings.op_routes) {
    orders.push_back({op, std::string(trimmed(backend)), "FLAGOS_OP_" + printable(op)});
  }
  planner.add_unordered(std::move(orders));
  for (auto& [name, route] : planner.take()) {
    plan.insert_or_assign(name, std::move(route));
  }
  carry_out(std::move(plan));
}

}  // namespace flagos::routing

namespace flagos {

using routing::table;

void register_backend(std::string_view name, KernelProvider provider) {
  routing::check_name(name);
  TORCH_CHECK(provider != nullptr, "flagos: backend ", name, " has no kernel provider.");
  routing::Plan plan = routing::plan_of_waiting(name, provider);
  {
    const std::lock_guard lock(table().mutex);
    table().providers.emplace(name, std::move(provider));
  }
  routing::carry_out(std::move(plan));
}

void set_route(std::string_view op, std::string_view backend) {
  routing::Planner planner(routing::Spelling::kName, routing::Unregistered::kRefused, routing::registered_backends());
  planner.add({std::string(op), std::string(backend), "set_route"});
  routing::carry_out(planner.take());
}

std::string route(std::string_view op) {
  const auto handle = routing::find_overload(op);
  TORCH_CHECK(handle.has_value(), "flagos: route: no operator \"", printable(op),
              "\". Nearest: ", routing::OperatorNames(routing::Spelling::kName).nearest(op), ".");
  const std::lock_guard lock(table().mutex);
  const auto found = table().standing.find(c10::toString(handle->operator_name()));
  return found == table().standing.end() || found->second.waiting ? std::string(routing::kNative)
                                                                  : found->second.backend;
}

std::vector<Route> routes() {
  const std::lock_guard lock(table().mutex);
  return routing::listed(table().standing);
}

void clear_routes() {
  const std::lock_guard lock(table().mutex);
  for (const auto& [name, route] : table().standing) {
    routing::to_native(route.op);
  }
  table().standing.clear();
}

std::vector<Route> read_routes(const std::string& file) { return routing::listed(routing::plan_of_file(file)); }

void load_routes(const std::string& file) { routing::carry_out(routing::plan_of_file(file)); }

}  // namespace flagos
