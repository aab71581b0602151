"""Device arguments, as every function of `torch.flagos` takes them."""

from __future__ import annotations

from typing import TypeAlias

import torch

from flagos._library import target

# A flagos device, its name ("flagos", "flagos:1") or its index; None is the current device.
DeviceLike: TypeAlias = "torch.device | str | int | None"


def on_cuda() -> bool:
    """Whether the target is CUDA."""
    return target() == "cuda"


def count() -> int:
    """How many flagos devices there are: the CPU is one. (torch.accelerator.device_count() asks torch.flagos.)"""
    return torch.cuda.device_count() if on_cuda() else 1


def index_of(device: DeviceLike) -> int:
    """The index of a flagos device. Raises ValueError for a device of another type."""
    if isinstance(device, str):
        device = torch.device(device)
    if isinstance(device, torch.device):
        if device.type != "flagos":
            raise ValueError(f"flagos: expected a flagos device, got {device}.")
        device = device.index
    if device is None or device < 0:
        return torch.accelerator.current_device_index()
    if device >= count():
        raise ValueError(f"flagos: there is no device flagos:{device}; the number of devices is {count()}.")
    return int(device)


def needs_cuda(what: str) -> RuntimeError:
    """The error of a question that only a CUDA target can answer."""
    return RuntimeError(f"flagos: {what} is not available on the CPU target (FLAGOS_TARGET).")
