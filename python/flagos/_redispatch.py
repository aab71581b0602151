"""The kill switch of the redispatch fast path. Off changes no result, only the way to the kernel."""

from __future__ import annotations

import threading
from contextlib import ContextDecorator
from types import TracebackType

from flagos._library import library


def redispatch_enabled() -> bool:
    """Whether the calling thread takes the redispatch fast path where it may."""
    return bool(library().flagos_redispatch_enabled())


def set_redispatch_enabled(enabled: bool) -> None:
    """Sets the process-wide switch, which every thread follows that is not within `redispatch`."""
    library().flagos_set_redispatch(int(enabled))


class redispatch(ContextDecorator):
    """Sets the switch for the calling thread within a `with` block, or within each call of a decorated function.

        with flagos.redispatch(False):
            y = model(x)

    It nests, and must be left on the thread that entered it. Other threads are not affected, nor is autograd's: it runs
    the backward of flagos tensors on threads of its own, which follow `set_redispatch_enabled`.
    """

    def __init__(self, enabled: bool) -> None:
        self._enabled = enabled
        self._guards: list[tuple[int, int]] = []  # thread, guard

    def __enter__(self) -> redispatch:
        guard = library().flagos_redispatch_guard_begin(int(self._enabled))
        if not guard:
            raise MemoryError("flagos.redispatch: out of memory.")
        self._guards.append((threading.get_ident(), guard))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        thread, guard = self._guards[-1]
        if thread != threading.get_ident():
            raise RuntimeError(
                "flagos.redispatch: left on another thread than it was entered on; the switch of that one stays set. "
                "Use it within one function, or flagos.set_redispatch_enabled() for all threads."
            )
        self._guards.pop()
        library().flagos_redispatch_guard_end(guard)

    def _recreate_cm(self) -> redispatch:
        """One of its own for each call of a decorated function, which may run on several threads at once."""
        return redispatch(self._enabled)
