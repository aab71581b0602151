"""Counters of the fast path, per operator."""

from __future__ import annotations

import ctypes
import json
from dataclasses import dataclass, field

from flagos._library import library


@dataclass(frozen=True)
class OpCounts:
    """Calls of one operator on flagos tensors."""

    calls: int = 0  # times a flagos kernel ran: hits, refusals and calls of hand-written kernels, such as views
    hits: int = 0  # times the fast path was taken
    refused: dict[str, int] = field(default_factory=dict)  # times it was not, by reason code: {"FP-OFF": 2}

    @property
    def hit_rate(self) -> float | None:
        """The share of the calls that could take the fast path which took it; None when there was no such call."""
        asked = self.hits + sum(self.refused.values())
        return self.hits / asked if asked else None

    def since(self, before: OpCounts) -> OpCounts:
        """What was counted after `before`."""
        more = {code: count - before.refused.get(code, 0) for code, count in self.refused.items()}
        refused = {code: count for code, count in more.items() if count}
        return OpCounts(self.calls - before.calls, self.hits - before.hits, refused)


def _read(thread_only: bool) -> dict[str, OpCounts]:
    text = library().flagos_stats_json(int(thread_only))
    if not text:
        raise MemoryError("flagos.stats: out of memory.")
    try:
        counts = json.loads(ctypes.string_at(text))
    finally:
        library().flagos_free(text)
    return {op: OpCounts(**each) for op, each in sorted(counts.items())}


def stats() -> dict[str, OpCounts]:
    """Counters of every operator called since the library was loaded or `reset_stats()`, summed over all threads.

    The keys are full names: "aten::add.Tensor".
    """
    return _read(thread_only=False)


def thread_stats() -> dict[str, OpCounts]:
    """`stats()` of the calling thread alone."""
    return _read(thread_only=True)


def reset_stats() -> None:
    """Sets every counter to zero, those of all threads."""
    library().flagos_reset_stats()
