#include "kernel/replacement.h"

#include <c10/util/Exception.h>

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>

#include "kernel/registration.h"

namespace flagos::kernel {
namespace {

using c10::DispatchKey;

struct NoWarnings final : c10::WarningHandler {
  void process(const c10::Warning& /*warning*/) override {}
};

struct Registration {
  c10::OperatorName op;
  DispatchKey key;
  c10::KernelFunction kernel;
  std::string debug;
  std::optional<c10::RegistrationHandleRAII> handle;  // nothing while replaced

  // c10 warns, once in a process, when a kernel takes another's place. Where that happens here it is meant: the warning
  // is neither shown nor used up.
  void make() {
    NoWarnings none;
    const c10::WarningUtils::WarningHandlerGuard quiet(&none);
    const c10::WarningUtils::WarnAlways always;
    handle.emplace(c10::Dispatcher::singleton().registerImpl(op, key, kernel, std::nullopt, nullptr, debug));
  }
};

struct Registrations {
  std::mutex mutex;
  std::deque<Registration> own;                                   // in the order in which they were made
  std::deque<Registration> replacements;                          // all that there ever were
  std::unordered_map<c10::OperatorName, Registration*> standing;  // replacements in force
};

// Never destroyed: the dispatcher may be gone by the time static destructors run.
Registrations& all_registrations() {
  static auto* instance = new Registrations();
  return *instance;
}

bool concerns(const Registration& registration, const c10::OperatorName& op) {
  return registration.key == DispatchKey::PrivateUse1 && registration.op == op;
}

void take_back_own(Registrations& registrations, const c10::OperatorName& op) {
  for (auto& own : registrations.own) {
    if (concerns(own, op)) {
      own.handle.reset();
    }
  }
}

void make_own_again(Registrations& registrations, const c10::OperatorName& op) {
  for (auto& own : registrations.own) {
    if (concerns(own, op) && !own.handle.has_value()) {
      own.make();
    }
  }
}

// In place of flagos' own kernel and of an earlier replacement.
void put_in_place(Registrations& registrations, Registration& replacement) {
  if (Registration* earlier = std::exchange(registrations.standing[replacement.op], nullptr)) {
    earlier->handle.reset();
  }
  take_back_own(registrations, replacement.op);
  replacement.make();
  registrations.standing[replacement.op] = &replacement;
}

void add_own(const c10::OperatorName& op, DispatchKey key, c10::KernelFunction kernel, const char* debug) {
  auto& registrations = all_registrations();
  const std::lock_guard lock(registrations.mutex);
  registrations.own.push_back({op, key, std::move(kernel), debug, std::nullopt});
  registrations.own.back().make();
}

}  // namespace

void register_kernel(const OpContext& context, c10::KernelFunction kernel, c10::DispatchKey key) {
  add_own(context.name, key, std::move(kernel),
          context.kind == KernelKind::kView ? "libflagos, never boxed" : "libflagos, boxed");
}

void register_composite(const c10::OperatorName& name, DispatchKey key, c10::KernelFunction kernel) {
  add_own(name, key, std::move(kernel), "libflagos, composite");
}

void replace_kernel(const c10::OperatorHandle& op, c10::KernelFunction kernel, std::string debug) {
  auto& registrations = all_registrations();
  const std::lock_guard lock(registrations.mutex);
  registrations.replacements.push_back(
      {op.operator_name(), DispatchKey::PrivateUse1, std::move(kernel), std::move(debug), std::nullopt});
  put_in_place(registrations, registrations.replacements.back());
}

bool replace_kernel_again(const c10::OperatorHandle& op, const std::string& debug) {
  auto& registrations = all_registrations();
  const std::lock_guard lock(registrations.mutex);
  for (Registration& each : registrations.replacements) {
    if (each.op == op.operator_name() && each.debug == debug) {
      put_in_place(registrations, each);
      return true;
    }
  }
  return false;
}

void restore_kernel(const c10::OperatorHandle& op) {
  auto& registrations = all_registrations();
  const std::lock_guard lock(registrations.mutex);
  const auto found = registrations.standing.find(op.operator_name());
  if (found == registrations.standing.end()) {
    return;
  }
  if (found->second != nullptr) {
    found->second->handle.reset();
  }
  registrations.standing.erase(found);
  make_own_again(registrations, op.operator_name());
}

}  // namespace flagos::kernel
