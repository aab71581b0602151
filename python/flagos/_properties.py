"""What a device is and can do: the target's properties."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from typing import Any

import torch

from flagos import memory
from flagos._devices import DeviceLike, index_of, needs_cuda, on_cuda


@dataclass(frozen=True)
class DeviceProperties:
    """What is known of a device on the CPU target. On the CUDA target, see torch.cuda.get_device_properties."""

    name: str
    total_memory: int  # bytes
    multi_processor_count: int  # processors this process may run on


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
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("get_device_capability()")
    return torch.cuda.get_device_capability(index)


def can_device_access_peer(device: DeviceLike, peer_device: DeviceLike) -> bool:
    """Whether one device can read another's memory: False on the CPU target, which has no other."""
    index, peer = index_of(device), index_of(peer_device)
    return on_cuda() and torch.cuda.can_device_access_peer(index, peer)


def is_bf16_supported(including_emulation: bool = True) -> bool:
    return torch.cuda.is_bf16_supported(including_emulation) if on_cuda() else True


def is_tf32_supported() -> bool:
    return on_cuda() and torch.cuda.is_tf32_supported()


def get_amp_supported_dtype() -> list[torch.dtype]:
    """The dtypes that torch.autocast("flagos") accepts."""
    return [torch.float16, torch.bfloat16]
