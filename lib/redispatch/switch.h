// The kill switch: process-wide, and per thread.
#pragma once

namespace flagos::redispatch_switch {

// Whether the process-wide switch turns the fast path off.
bool process_off() noexcept;

// Sets the start value from FLAGOS_NO_REDISPATCH; called once, while the library is loaded.
void initialise(bool off) noexcept;

}  // namespace flagos::redispatch_switch
