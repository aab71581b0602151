"""The module behind `torch.flagos`: devices, streams and properties, each delegated to the target."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

import torch

from flagos import _inductor, amp, graphs, memory, random, streams
from flagos._devices import DeviceLike, count, index_of, needs_cuda, on_cuda
from flagos.graphs import CUDAGraph, graph, graph_pool_handle, make_graphed_callables
from flagos.memory import (
    empty_cache,
    ipc_collect,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_snapshot,
    memory_stats,
    memory_stats_as_nested_dict,
    memory_summary,
    reset_accumulated_memory_stats,
    reset_max_memory_allocated,
    reset_max_memory_cached,
    reset_peak_memory_stats,
)
from flagos.random import (
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from flagos.streams import Event, Stream, StreamContext, current_stream, default_stream, set_stream, stream

__all__ = [
    "CUDAGraph",
    "DeviceProperties",
    "Event",
    "Stream",
    "StreamContext",
    "amp",
    "can_device_access_peer",
    "current_device",
    "current_stream",
    "default_stream",
    "device",
    "device_count",
    "device_of",
    "empty_cache",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "get_rng_state",
    "get_rng_state_all",
    "graph",
    "graph_pool_handle",
    "graphs",
    "init",
    "initial_seed",
    "ipc_collect",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "make_graphed_callables",
    "manual_seed",
    "manual_seed_all",
    "max_memory_allocated",
    "max_memory_reserved",
    "mem_get_info",
    "memory",
    "memory_allocated",
    "memory_reserved",
    "memory_snapshot",
    "memory_stats",
    "memory_stats_as_nested_dict",
    "memory_summary",
    "random",
    "reset_accumulated_memory_stats",
    "reset_max_memory_allocated",
    "reset_max_memory_cached",
    "reset_peak_memory_stats",
    "seed",
    "seed_all",
    "set_device",
    "set_rng_state",
    "set_rng_state_all",
    "set_stream",
    "stream",
    "streams",
    "synchronize",
]


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device on the CPU target. On the CUDA target, see torch.cuda.get_device_properties."""

    name: str
    total_memory: int  # bytes
    multi_processor_count: int  # processors this process may run on


class device(torch.accelerator.device_index):
    """Makes a device current within a `with` block; None or a negative index changes nothing."""

    def __init__(self, device: DeviceLike) -> None:
        unchanged = device is None or (isinstance(device, int) and device < 0)
        super().__init__(None if unchanged else index_of(device))


class device_of(device):
    """Makes the device of `obj` current; changes nothing when `obj` is not on flagos."""

    def __init__(self, obj: torch.Tensor | torch.UntypedStorage) -> None:
        super().__init__(obj.device if obj.device.type == "flagos" else None)


def is_available() -> bool:
    return device_count() > 0


def device_count() -> int:
    return count()


def current_device() -> int:
    return torch.accelerator.current_device_index()


def set_device(device: DeviceLike) -> None:
    """Makes a device current for the calling thread; a negative index changes nothing, as in torch.cuda."""
    if not (isinstance(device, int) and device < 0):
        torch.accelerator.set_device_index(index_of(device))


def synchronize(device: DeviceLike = None) -> None:
    """Waits for all work on a device. Returns at once on the CPU target."""
    torch.accelerator.synchronize(index_of(device))


def init() -> None:
    """Initialises the target. Called by PyTorch before the first tensor is made; may be called again."""
    if on_cuda():
        torch.cuda.init()  # type: ignore[no-untyped-call]


def is_initialized() -> bool:
    return torch.cuda.is_initialized() if on_cuda() else True  # type: ignore[no-untyped-call]


def get_device_properties(device: DeviceLike = None) -> Any:
    """The target's properties of a device: name, total_memory, multi_processor_count, and on CUDA more."""
    index = index_of(device)
    if on_cuda():
        return torch.cuda.get_device_properties(index)
    total = memory.mem_get_info(index)[1]
    return DeviceProperties(platform.processor() or platform.machine(), total, len(os.sched_getaffinity(0)))


def get_device_name(device: DeviceLike = None) -> str:
    return str(get_device_properties(device).name)


def get_device_capability(device: DeviceLike = None) -> tuple[int, int]:
    """CUDA's compute capability. Raises RuntimeError on the CPU target."""
    if not on_cuda():
        raise needs_cuda("get_device_capability()")
    return torch.cuda.get_device_capability(index_of(device))


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    return on_cuda() and torch.cuda.can_device_access_peer(index_of(device), index_of(peer_device))


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return torch.cuda.is_bf16_supported(including_emulation) if on_cuda() else True


def is_tf32_supported() -> bool:
    return on_cuda() and torch.cuda.is_tf32_supported()


def is_current_stream_capturing() -> bool:
    """Whether the current stream records a CUDA graph."""
    return on_cuda() and torch.cuda.is_current_stream_capturing()


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast("flagos") accepts."""
    return [torch.float16, torch.bfloat16]


def _lazy_init() -> None:
    init()


def _is_in_bad_fork() -> bool:
    return on_cuda() and torch.cuda._is_in_bad_fork()


# Of torch.cuda's functions without a device argument, those that ask for what only CUDA has.
_CUDA_ONLY = frozenset({"current_blas_handle", "get_arch_list", "get_gencode_flags", "nvtx"})

# What inductor looks up on a device's module to generate code for the device.
_CODE_GENERATION = frozenset({"Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"})


def __getattr__(name: str) -> Any:
    # Not known before CUDA is initialised. They are the target's: a flagos default generator wraps the same state.
    if name == "default_generators":
        init()
        return torch.cuda.default_generators if on_cuda() else (torch.default_generator,)
    if name == "_initialized":  # activation checkpointing saves the random number state of a device that has it
        return is_initialized()
    if name in _CODE_GENERATION:
        return _inductor.Unsupported
    if name in _CUDA_ONLY and on_cuda():
        return getattr(torch.cuda, name)
    where = " on the CPU target" if name in _CUDA_ONLY else ""
    raise AttributeError(f"module 'torch.flagos' has no attribute {name!r}{where}")
