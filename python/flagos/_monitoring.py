"""What a GPU's driver tells about the device, as nvidia-smi does. The CPU target has no such driver."""

from __future__ import annotations

import torch

from flagos import memory
from flagos._devices import DeviceLike, index_of, needs_cuda, on_cuda


def _cuda_index(device: DeviceLike, what: str) -> int:
    """The index; raises RuntimeError on the CPU target."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda(what)
    return index


def utilization(device: DeviceLike = None) -> int:
    """Percent of the last sample period in which a kernel ran. Raises RuntimeError on the CPU target."""
    return torch.cuda.utilization(_cuda_index(device, "utilization()"))


def memory_usage(device: DeviceLike = None) -> int:
    """Percent of the last sample period in which memory was used. Raises RuntimeError on the CPU target."""
    return torch.cuda.memory_usage(_cuda_index(device, "memory_usage()"))


def temperature(device: DeviceLike = None) -> int:
    """Degrees Celsius. Raises RuntimeError on the CPU target."""
    return torch.cuda.temperature(_cuda_index(device, "temperature()"))


def power_draw(device: DeviceLike = None) -> int:
    """Milliwatts. Raises RuntimeError on the CPU target."""
    return torch.cuda.power_draw(_cuda_index(device, "power_draw()"))


def clock_rate(device: DeviceLike = None) -> int:
    """Of the multiprocessors, in MHz. Raises RuntimeError on the CPU target."""
    return torch.cuda.clock_rate(_cuda_index(device, "clock_rate()"))


def device_memory_used(device: DeviceLike = None) -> int:
    """Memory in use by all processes, in bytes; on the CPU target of the machine."""
    index = index_of(device)
    if on_cuda():
        return torch.cuda.device_memory_used(index)
    free, total = memory.mem_get_info(index)
    return total - free
