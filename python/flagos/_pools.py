"""How the target allocates: memory by its address, pools, limits. On the CPU target there is nothing of the kind."""

from __future__ import annotations

from contextlib import AbstractContextManager

import torch

from flagos._devices import DeviceLike, index_of, needs_cuda, on_cuda
from flagos.graphs import cuda_stream


def caching_allocator_alloc(size: int, device: DeviceLike = None, stream: torch.Stream | int | None = None) -> int:
    """The address of `size` bytes of a device, for caching_allocator_delete(). Raises RuntimeError on the CPU target.

    `stream`, which uses the memory, is a stream of flagos or CUDA or the address of one; None is the current one.
    """
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("caching_allocator_alloc()")
    theirs = cuda_stream(stream) if isinstance(stream, torch.Stream) else stream
    return int(torch.cuda.caching_allocator_alloc(size, index, theirs))


def caching_allocator_delete(mem_ptr: int) -> None:
    """Frees what caching_allocator_alloc() gave. Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("caching_allocator_delete()")
    torch.cuda.caching_allocator_delete(mem_ptr)  # type: ignore[no-untyped-call]


def caching_allocator_enable(value: bool = True) -> None:
    """Whether memory is kept when it is freed. The CPU target keeps none: there True raises RuntimeError."""
    if on_cuda():
        torch.cuda.caching_allocator_enable(value)
    elif value:
        raise needs_cuda("a caching allocator")


def get_allocator_backend() -> str:
    """Which of CUDA's allocators is in use, "native" or "cudaMallocAsync". Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("get_allocator_backend()")
    return torch.cuda.get_allocator_backend()


def set_per_process_memory_fraction(fraction: float, device: DeviceLike = None) -> None:
    """Limits this process to a part, from 0 to 1, of a device's memory. The CPU target can't limit it: RuntimeError."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("set_per_process_memory_fraction()")
    torch.cuda.set_per_process_memory_fraction(fraction, index)


def get_per_process_memory_fraction(device: DeviceLike = None) -> float:
    """The limit that set_per_process_memory_fraction() set; 1.0, no limit, on the CPU target."""
    index = index_of(device)
    return torch.cuda.get_per_process_memory_fraction(index) if on_cuda() else 1.0


def use_mem_pool(pool: torch.cuda.MemPool, device: DeviceLike = None) -> AbstractContextManager[None]:
    """torch.cuda.use_mem_pool(): allocates from a pool within a `with` block. Raises RuntimeError on the CPU target."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("use_mem_pool()")
    return torch.cuda.use_mem_pool(pool, index)
