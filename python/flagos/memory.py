"""Memory statistics. Flagos tensors live in the target's allocator, so on CUDA these are CUDA's, in bytes.

The CPU target's allocator keeps no statistics: what it has not counted reads 0 or is empty, resetting and emptying do
nothing. How much memory there is, it can tell: a device's is the machine's.
"""

from __future__ import annotations

import os
from typing import Any

import torch

from flagos._devices import DeviceLike, index_of, needs_cuda, on_cuda


def empty_cache() -> None:
    """Gives unused cached memory back to the driver."""
    if on_cuda():
        torch.cuda.empty_cache()


def memory_allocated(device: DeviceLike = None) -> int:
    return torch.cuda.memory_allocated(index_of(device)) if on_cuda() else 0


def max_memory_allocated(device: DeviceLike = None) -> int:
    return torch.cuda.max_memory_allocated(index_of(device)) if on_cuda() else 0


def memory_reserved(device: DeviceLike = None) -> int:
    return torch.cuda.memory_reserved(index_of(device)) if on_cuda() else 0


def max_memory_reserved(device: DeviceLike = None) -> int:
    return torch.cuda.max_memory_reserved(index_of(device)) if on_cuda() else 0


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    return torch.cuda.memory_stats(index_of(device)) if on_cuda() else {}


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    return torch.cuda.memory_stats_as_nested_dict(index_of(device)) if on_cuda() else {}


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    if not on_cuda():
        return "flagos: the allocator of the CPU target keeps no statistics.\n"
    return torch.cuda.memory_summary(index_of(device), abbreviated)


def memory_snapshot() -> list[dict[str, Any]]:
    return list(torch.cuda.memory_snapshot()) if on_cuda() else []  # type: ignore[no-untyped-call]


def _record_memory_history(enabled: str | None = "all", *arguments: Any, device: DeviceLike = None, **kw: Any) -> None:
    """Has CUDA's allocator keep what _snapshot tells. Raises RuntimeError on the CPU target, unless it is to stop."""
    if on_cuda():
        torch.cuda.memory._record_memory_history(enabled, *arguments, device=index_of(device), **kw)  # type: ignore
    elif enabled is not None:
        raise needs_cuda("a history of the allocator")


def _snapshot(device: DeviceLike = None) -> dict[str, Any]:
    """CUDA's segments and, where recorded, their history. Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("a snapshot of the allocator")
    return torch.cuda.memory._snapshot(index_of(device))  # type: ignore[no-any-return]


def _dump_snapshot(filename: str = "dump_snapshot.pickle") -> None:
    """Writes _snapshot() for https://pytorch.org/memory_viz. Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("a snapshot of the allocator")
    torch.cuda.memory._dump_snapshot(filename)  # type: ignore[no-untyped-call]


def _machine_memory() -> tuple[int, int]:
    """Available and total memory of this machine, in bytes. Available is what could be had without swapping."""
    page = os.sysconf("SC_PAGE_SIZE")
    available, total = page * os.sysconf("SC_AVPHYS_PAGES"), page * os.sysconf("SC_PHYS_PAGES")
    try:
        with open("/proc/meminfo", encoding="ascii") as lines:
            values = {name: text for name, _, text in (line.partition(":") for line in lines)}
        available = int(values["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError):  # free pages, then: less, as the page cache counts as used
        pass
    return available, total


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total memory of a device, in bytes; on the CPU target those of the machine."""
    index = index_of(device)
    return torch.cuda.mem_get_info(index) if on_cuda() else _machine_memory()


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    if on_cuda():
        torch.cuda.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    if on_cuda():
        torch.cuda.reset_accumulated_memory_stats(index_of(device))


def reset_max_memory_allocated(device: DeviceLike = None) -> None:
    """The older name of reset_peak_memory_stats, as in torch.cuda."""
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device: DeviceLike = None) -> None:
    """The older name of reset_peak_memory_stats, as in torch.cuda."""
    reset_peak_memory_stats(device)


def ipc_collect() -> None:
    """Frees memory that other processes have released. Nothing to do on the CPU target."""
    if on_cuda():
        torch.cuda.ipc_collect()  # type: ignore[no-untyped-call]
