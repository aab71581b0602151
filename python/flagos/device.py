"""The module behind `torch.flagos`: the names of torch.cuda, each delegated to the target."""

from __future__ import annotations

from typing import Any

import torch

from flagos import _inductor, amp, graphs, memory, random, streams
from flagos._current import (
    current_device,
    device,
    device_count,
    device_of,
    init,
    is_available,
    is_in_bad_fork,
    is_initialized,
    set_device,
    synchronize,
)
from flagos._devices import on_cuda
from flagos._monitoring import (
    clock_rate,
    device_memory_used,
    memory_usage,
    power_draw,
    temperature,
    utilization,
)
from flagos._names_of_cuda import of_cuda
from flagos._properties import (
    DeviceProperties,
    can_device_access_peer,
    get_amp_supported_dtype,
    get_device_capability,
    get_device_name,
    get_device_properties,
    is_bf16_supported,
    is_tf32_supported,
)
from flagos.graphs import CUDAGraph, graph, graph_pool_handle, is_current_stream_capturing, make_graphed_callables
from flagos.memory import *  # noqa: F403
from flagos.random import *  # noqa: F403
from flagos.streams import *  # noqa: F403

__all__ = [
    "AcceleratorError",
    "CUDAGraph",
    "DeviceProperties",
    "OutOfMemoryError",
    "amp",
    "can_device_access_peer",
    "clock_rate",
    "current_device",
    "device",
    "device_count",
    "device_memory_used",
    "device_of",
    "get_amp_supported_dtype",
    "get_device_capability",
    "get_device_name",
    "get_device_properties",
    "graph",
    "graph_pool_handle",
    "graphs",
    "has_half",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_current_stream_capturing",
    "is_initialized",
    "is_tf32_supported",
    "make_graphed_callables",
    "memory",
    "memory_usage",
    "power_draw",
    "random",
    "set_device",
    "streams",
    "synchronize",
    "temperature",
    "utilization",
]
__all__ += memory.__all__
__all__ += random.__all__
__all__ += streams.__all__

OutOfMemoryError = torch.OutOfMemoryError
AcceleratorError = torch.AcceleratorError
has_half = True  # torch.float16 tensors

# By these names PyTorch asks every device module.
_lazy_init = init
_is_in_bad_fork = is_in_bad_fork

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
    return of_cuda(torch.cuda, name)
