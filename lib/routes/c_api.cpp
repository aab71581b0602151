// The functions of routes.h for loaders without C++ (the Python package, by ctypes). Threads: as those. What returns
// nothing there returns null here, or its error as a string that the caller frees with flagos_free().
#include <c10/util/Exception.h>

#include <cstring>
#include <exception>
#include <functional>

#include "flagos/routes.h"

namespace flagos {
namespace {

char* error_of(const std::function<void()>& call) noexcept {
  try {
    call();
    return nullptr;
  } catch (const c10::Error& error) {
    return strdup(error.what_without_backtrace());
  } catch (const std::exception& error) {
    return strdup(error.what());
  }
}

std::string escaped(const std::string& text) {
  std::string json;
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      json += '\\';
    }
    json += c;
  }
  return json;
}

// [{"op":"aten::mm","backend":"cpu","where":"routes.conf:3","waiting":false}]
std::string json(const std::vector<Route>& routes) {
  std::string text = "[";
  for (const Route& route : routes) {
    text += std::string(text.size() == 1 ? "" : ",") + R"({"op":")" + route.op + R"(","backend":")" + route.backend +
            R"(","where":")" + escaped(route.where) + R"(","waiting":)" + (route.waiting ? "true" : "false") + "}";
  }
  return text + "]";
}

}  // namespace
}  // namespace flagos

extern "C" {

// register_backend() with namespace_kernels().
FLAGOS_API char* flagos_register_backend(const char* name, const char* name_space) {
  return flagos::error_of([&] { flagos::register_backend(name, flagos::namespace_kernels(name_space)); });
}

FLAGOS_API char* flagos_set_route(const char* op, const char* backend) {
  return flagos::error_of([&] { flagos::set_route(op, backend); });
}

FLAGOS_API char* flagos_load_routes(const char* file) {
  return flagos::error_of([&] { flagos::load_routes(file); });
}

FLAGOS_API char* flagos_clear_routes() {
  return flagos::error_of([] { flagos::clear_routes(); });
}

// The routes there are, as a JSON list, which the caller frees with flagos_free(); null when there is no memory.
FLAGOS_API char* flagos_routes_json() {
  try {
    return strdup(flagos::json(flagos::routes()).c_str());
  } catch (const std::exception&) {
    return nullptr;
  }
}

}  // extern "C"
