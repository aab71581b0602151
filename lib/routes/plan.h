// Plan: orders with their names looked up and found possible, before anything is done about them.
#pragma once

#include <ATen/core/boxing/KernelFunction.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <map>
#include <string>
#include <vector>

#include "flagos/routes.h"
#include "routes/conf.h"
#include "routes/names.h"

namespace flagos::routing {

using Providers = std::map<std::string, KernelProvider, std::less<>>;

// Where one operator is to go.
struct PlannedRoute {
  c10::OperatorHandle op;
  std::string backend;  // "native" undoes the route there is
  std::string where;
  bool one_of_several = false;  // the order was a bare name's, which means those overloads that can go there
  bool waiting = false;         // for register_backend()
  c10::KernelFunction kernel;   // of a named backend
};

using Plan = std::map<std::string, PlannedRoute>;  // by "aten::add.Tensor"

// Whether routes may name a backend that is known but not registered yet.
enum class Unregistered { kRefused, kWaits };

class Planner {
 public:
  Planner(Spelling spelling, Unregistered unregistered, Providers providers)
      : names_(spelling), spelling_(spelling), unregistered_(unregistered), providers_(std::move(providers)) {}

  // Later orders replace earlier ones. Throws c10::Error, see set_route().
  void add(const Order& order);
  // In any order: those of a bare name give way to those of one overload.
  void add_unordered(std::vector<Order> orders);

  Plan take() { return std::move(plan_); }

 private:
  std::string known_backend(const Order& order) const;
  std::string refusal(PlannedRoute& route) const;

  OperatorNames names_;
  Spelling spelling_;
  Unregistered unregistered_;
  Providers providers_;
  Plan plan_;
};

}  // namespace flagos::routing
