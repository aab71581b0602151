// The routes in force. Their API is flagos/routes.h.
#pragma once

namespace flagos::routing {

// Sets the routes of FLAGOS_BACKEND_CONFIG and, over them, of FLAGOS_OP_<name>. Throws c10::Error naming file and line,
// or the variable, with nothing changed. Called once, while the library is loaded.
void apply_environment();

}  // namespace flagos::routing
