// The kill switch: process-wide, and per thread.
#pragma once

#include <cstdint>

namespace flagos::redispatch_switch {

// Bits of ThreadState::off. Any of them sends a call past the hot path's one comparison.
inline constexpr uint8_t kOffBit = 1;  // the fast path is off
inline constexpr uint8_t kLogBit = 2;  // FLAGOS_LOG_DISPATCH

// The byte for a thread without an override.
uint8_t process_bits() noexcept;

// Sets the start values from FLAGOS_NO_REDISPATCH and FLAGOS_LOG_DISPATCH; called once, while the library is loaded.
void initialise(bool off, bool log) noexcept;

}  // namespace flagos::redispatch_switch
