"""Memory statistics. Flagos tensors live in the target's allocator, so on CUDA these are CUDA's, in bytes.

The CPU target's allocator keeps no statistics: what it has not counted reads 0 or is empty, resetting and emptying do
nothing. How much memory there is, it can tell: a device's is the machine's. `flagos._pools` has what changes how memory
is allocated.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import torch

from flagos._devices import DeviceLike, index_of, needs_cuda, on_cuda
from flagos._names_of_cuda import of_cuda
from flagos._pools import (
    caching_allocator_alloc,
    caching_allocator_delete,
    caching_allocator_enable,
    get_allocator_backend,
    get_per_process_memory_fraction,
    set_per_process_memory_fraction,
    use_mem_pool,
)

__all__ = [
    "attach_out_of_memory_observer",
    "caching_allocator_alloc",
    "caching_allocator_delete",
    "caching_allocator_enable",
    "empty_cache",
    "get_allocator_backend",
    "get_per_process_memory_fraction",
    "host_memory_stats",
    "host_memory_stats_as_nested_dict",
    "ipc_collect",
    "list_gpu_processes",
    "max_memory_allocated",
    "max_memory_cached",
    "max_memory_reserved",
    "mem_get_info",
    "memory_allocated",
    "memory_cached",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "record_memory_history",
    "reset_accumulated_host_memory_stats",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_host_memory_stats",
    "reset_peak_memory_stats",
    "set_per_process_memory_fraction",
    "snapshot",
    "use_mem_pool",
]


def empty_cache() -> None:
    """Gives unused cached memory back to the driver."""
    if on_cuda():
        torch.cuda.empty_cache()


def memory_allocated(device: DeviceLike = None) -> int:
    index = index_of(device)
    return torch.cuda.memory_allocated(index) if on_cuda() else 0


def max_memory_allocated(device: DeviceLike = None) -> int:
    index = index_of(device)
    return torch.cuda.max_memory_allocated(index) if on_cuda() else 0


def memory_reserved(device: DeviceLike = None) -> int:
    index = index_of(device)
    return torch.cuda.memory_reserved(index) if on_cuda() else 0


def max_memory_reserved(device: DeviceLike = None) -> int:
    index = index_of(device)
    return torch.cuda.max_memory_reserved(index) if on_cuda() else 0


def memory_cached(device: DeviceLike = None) -> int:
    """The older name of memory_reserved, as in torch.cuda."""
    return memory_reserved(device)


def max_memory_cached(device: DeviceLike = None) -> int:
    """The older name of max_memory_reserved, as in torch.cuda."""
    return max_memory_reserved(device)


def memory_stats(device: DeviceLike = None) -> dict[str, Any]:
    """Each statistic by its name, "allocated_bytes.all.current" for one; on the CPU target all are 0."""
    index = index_of(device)
    return torch.cuda.memory_stats(index) if on_cuda() else torch.accelerator.memory_stats(index)


def memory_stats_as_nested_dict(device: DeviceLike = None) -> dict[str, Any]:
    """memory_stats() with a dictionary for each part of a name."""
    index = index_of(device)
    if on_cuda():
        return torch.cuda.memory_stats_as_nested_dict(index)
    nested: dict[str, Any] = {}
    for name, value in torch.accelerator.memory_stats(index).items():
        *outer, last = name.split(".")
        inner = nested
        for part in outer:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return nested


def host_memory_stats() -> dict[str, Any]:
    """Statistics of CUDA's allocator of pinned memory; empty on the CPU target, which pins nothing."""
    return torch.cuda.host_memory_stats() if on_cuda() else {}


def host_memory_stats_as_nested_dict() -> dict[str, Any]:
    return torch.cuda.host_memory_stats_as_nested_dict() if on_cuda() else {}


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    index = index_of(device)
    if not on_cuda():
        return "flagos: the allocator of the CPU target keeps no statistics.\n"
    return torch.cuda.memory_summary(index, abbreviated)


def list_gpu_processes(device: DeviceLike = None) -> str:
    """The processes on a device and the memory of each, as a text. Raises RuntimeError on the CPU target."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("list_gpu_processes()")
    return torch.cuda.list_gpu_processes(index)


def memory_snapshot(*arguments: Any, **keywords: Any) -> list[dict[str, Any]]:
    """torch.cuda.memory_snapshot(), of one pool if told its id; empty on the CPU target."""
    return list(torch.cuda.memory_snapshot(*arguments, **keywords)) if on_cuda() else []  # type: ignore


def _record_memory_history(enabled: str | None = "all", *arguments: Any, device: DeviceLike = None, **kw: Any) -> None:
    """Has CUDA's allocator keep what _snapshot tells. Raises RuntimeError on the CPU target, unless it is to stop."""
    if on_cuda():
        torch.cuda.memory._record_memory_history(enabled, *arguments, device=index_of(device), **kw)  # type: ignore
    elif enabled is not None:
        raise needs_cuda("a history of the allocator")


def record_memory_history(enabled: str | None = "all", stacks: str = "python", max_entries: int = sys.maxsize) -> None:
    """torch.mtia's name of _record_memory_history()."""
    _record_memory_history(enabled, stacks=stacks, max_entries=max_entries)


def _snapshot(device: DeviceLike = None, **keywords: Any) -> dict[str, Any]:
    """CUDA's segments and, where recorded, their history. Raises RuntimeError on the CPU target."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("a snapshot of the allocator")
    return torch.cuda.memory._snapshot(index, **keywords)  # type: ignore[no-any-return]


def snapshot() -> dict[str, Any]:
    """torch.mtia's name of _snapshot()."""
    return _snapshot()


def _dump_snapshot(filename: str = "dump_snapshot.pickle", **keywords: Any) -> None:
    """Writes _snapshot() for https://pytorch.org/memory_viz. Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("a snapshot of the allocator")
    torch.cuda.memory._dump_snapshot(filename, **keywords)  # type: ignore[no-untyped-call]


def attach_out_of_memory_observer(observer: Callable[[int, int, int, int], None]) -> None:
    """Has `observer(device, allocated, device's total, device's free)` called, in bytes, before an out-of-memory error.

    Raises RuntimeError on the CPU target, whose allocator calls nobody.
    """
    if not on_cuda():
        raise needs_cuda("attach_out_of_memory_observer()")
    torch._C._cuda_attach_out_of_memory_observer(observer)  # type: ignore[attr-defined]


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
    index = index_of(device)
    if on_cuda():
        torch.cuda.reset_peak_memory_stats(index)


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    index = index_of(device)
    if on_cuda():
        torch.cuda.reset_accumulated_memory_stats(index)


def reset_peak_host_memory_stats() -> None:
    if on_cuda():
        torch.cuda.reset_peak_host_memory_stats()


def reset_accumulated_host_memory_stats() -> None:
    if on_cuda():
        torch.cuda.reset_accumulated_host_memory_stats()


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


def __getattr__(name: str) -> Any:
    return of_cuda(torch.cuda.memory, name)
