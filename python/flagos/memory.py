"""Memory statistics. Flagos tensors live in the target's allocator, so on CUDA these are CUDA's, in bytes.

The CPU target's allocator keeps no statistics: what it has not counted reads 0, resetting and emptying do nothing, and
what can't be answered raises RuntimeError.
"""

from __future__ import annotations

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


def memory_summary(device: DeviceLike = None, abbreviated: bool = False) -> str:
    if not on_cuda():
        raise needs_cuda("memory_summary()")
    return torch.cuda.memory_summary(index_of(device), abbreviated)


def memory_snapshot() -> list[dict[str, Any]]:
    if not on_cuda():
        raise needs_cuda("memory_snapshot()")
    return torch.cuda.memory_snapshot()


def mem_get_info(device: DeviceLike = None) -> tuple[int, int]:
    """Free and total memory of a device, in bytes."""
    if not on_cuda():
        raise needs_cuda("mem_get_info()")
    return torch.cuda.mem_get_info(index_of(device))


def reset_peak_memory_stats(device: DeviceLike = None) -> None:
    if on_cuda():
        torch.cuda.reset_peak_memory_stats(index_of(device))


def reset_accumulated_memory_stats(device: DeviceLike = None) -> None:
    if on_cuda():
        torch.cuda.reset_accumulated_memory_stats(index_of(device))
