// Events of a target without streams: the CPU runs an operator before the call returns, so an event is a point in time.
#pragma once

namespace flagos::device {

// Records now in `*event`, which is made when it is null; release_host_event() frees it.
void record_host_event(void** event);

// Frees what record_host_event() made; null is allowed.
void release_host_event(void* event) noexcept;

// From `first` to `second`, in milliseconds, as for CUDA. Both must have been recorded.
double host_event_milliseconds(const void* first, const void* second);

}  // namespace flagos::device
