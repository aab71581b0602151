// The few functions that loaders without C++ need (the Python package, by ctypes). Strings are static unless said
// otherwise; no function throws; any thread may call any of them.
#include <torch/version.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "boxing/thread_state.h"
#include "device/target_constants.h"
#include "flagos/flagos.h"
#include "kernel/load_error.h"
#include "kernel/registration.h"

namespace flagos {
namespace {

// A loader finds these bytes in the file, so that a library for another torch is refused before it is loaded: once it
// is, its static initialisers have run against the wrong layouts.
constexpr char kTorchMark[] = "flagos-built-for-torch=" TORCH_VERSION;
[[gnu::used]] const char* const g_torch_mark = kTorchMark;

// What the calling thread alone has counted; exact while other threads call operators.
std::vector<OpStats> thread_stats() {
  const ThreadState& state = thread_state();
  std::vector<OpStats> all;
  for (const kernel::OpContext* context : kernel::contexts()) {
    OpStats each;
    each.hits = state.hits[context->id].load(std::memory_order_relaxed);
    each.calls = each.hits + state.direct[context->id].load(std::memory_order_relaxed);
    for (size_t reason = 0; reason < ThreadState::kReasons; ++reason) {
      const size_t index = context->id * ThreadState::kReasons + reason;
      each.refused.at(reason) = state.refused[index].load(std::memory_order_relaxed);
      each.calls += each.refused.at(reason);
    }
    if (each.calls != 0) {
      each.op = c10::toString(context->name);
      all.push_back(std::move(each));
    }
  }
  return all;
}

// {"calls":3,"hits":1,"refused":{"FP-CONJ":2}}
std::string counts_json(const OpStats& each) {
  std::string refused;
  for (size_t reason = 0; reason < each.refused.size(); ++reason) {
    if (each.refused.at(reason) != 0) {
      refused += (refused.empty() ? "\"" : ",\"") + std::string(reason_code(static_cast<Reason>(reason))) +
                 "\":" + std::to_string(each.refused.at(reason));
    }
  }
  return "{\"calls\":" + std::to_string(each.calls) + ",\"hits\":" + std::to_string(each.hits) + ",\"refused\":{" +
         refused + "}}";
}

// An operator's name is made of identifiers, dots and colons: nothing in it needs escaping.
std::string stats_json(const std::vector<OpStats>& all) {
  std::string text = "{";
  for (const OpStats& each : all) {
    text += (text.size() == 1 ? "\"" : ",\"") + each.op + "\":" + counts_json(each);
  }
  return text + "}";
}

}  // namespace
}  // namespace flagos

extern "C" {

// The error of loading the library, or null.
FLAGOS_API const char* flagos_load_error() {
  const std::string* error = flagos::kernel::load_error();
  return error != nullptr ? error->c_str() : nullptr;
}

// "cpu" or "cuda".
FLAGOS_API const char* flagos_target_name() { return flagos::target().has_index ? "cuda" : "cpu"; }

// The library's own version.
FLAGOS_API const char* flagos_version() { return flagos::version(); }

// See flagos::set_redispatch_enabled and flagos::redispatch_enabled.
FLAGOS_API void flagos_set_redispatch(int enabled) { flagos::set_redispatch_enabled(enabled != 0); }
FLAGOS_API int flagos_redispatch_enabled() { return flagos::redispatch_enabled() ? 1 : 0; }

// A flagos::RedispatchGuard. The caller ends it with flagos_redispatch_guard_end, once, on the thread that began it and
// in reverse order. Null when there is no memory; null may be ended.
FLAGOS_API void* flagos_redispatch_guard_begin(int enabled) {
  return new (std::nothrow) flagos::RedispatchGuard(enabled != 0);
}
FLAGOS_API void flagos_redispatch_guard_end(void* guard) { delete static_cast<flagos::RedispatchGuard*>(guard); }

// The counters of flagos::stats() as JSON: {"aten::add.Tensor":{"calls":3,"hits":1,"refused":{"FP-CONJ":2}}}. Those of
// the calling thread alone when `thread_only` is not 0. The caller frees the string with flagos_free; null when there
// is no memory.
FLAGOS_API char* flagos_stats_json(int thread_only) {
  try {
    return strdup(flagos::stats_json(thread_only != 0 ? flagos::thread_stats() : flagos::stats()).c_str());
  } catch (const std::exception&) {
    return nullptr;
  }
}
FLAGOS_API void flagos_free(char* text) { std::free(text); }

// See flagos::reset_stats.
FLAGOS_API void flagos_reset_stats() { flagos::reset_stats(); }

// See flagos::reason_help; null for a code there is not ("FP-CONJ" is one).
FLAGOS_API const char* flagos_reason_help(const char* code) {
  for (size_t i = 1; i < static_cast<size_t>(flagos::Reason::kCount); ++i) {
    const auto reason = static_cast<flagos::Reason>(i);
    if (std::string_view(flagos::reason_code(reason)) == code) {
      return flagos::reason_help(reason);
    }
  }
  return nullptr;
}

// "boxed", "view", "composite", "fallback" or "none" for an operator ("aten::add.Tensor" or "add.Tensor").
FLAGOS_API const char* flagos_kernel_kind(const char* op) {
  try {
    return flagos::kernel_kind_name(flagos::kernel_kind(op));
  } catch (const std::exception&) {
    return flagos::kernel_kind_name(flagos::KernelKind::kNone);
  }
}

}  // extern "C"
