// The few functions that loaders without C++ need (the Python package, by ctypes). Strings are static.
#include "device/target_constants.h"
#include "flagos/flagos.h"
#include "kernel/load_error.h"

extern "C" {

// The error of loading the library, or null.
FLAGOS_API const char* flagos_load_error() {
  const std::string* error = flagos::kernel::load_error();
  return error != nullptr ? error->c_str() : nullptr;
}

// "cpu" or "cuda".
FLAGOS_API const char* flagos_target_name() { return flagos::target().has_index ? "cuda" : "cpu"; }

// See flagos::set_redispatch_enabled and flagos::redispatch_enabled.
FLAGOS_API void flagos_set_redispatch(int enabled) { flagos::set_redispatch_enabled(enabled != 0); }
FLAGOS_API int flagos_redispatch_enabled() { return flagos::redispatch_enabled() ? 1 : 0; }

}  // extern "C"
