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


def _existing() -> str:
    last = count() - 1
    return "flagos:0 only" if last == 0 else f"flagos:0 to flagos:{last}"


def _parsed(device: str) -> torch.device:
    try:
        return torch.device(device)
    except RuntimeError as error:
        reason = str(error).partition("\n")[0].rstrip(".")
        raise ValueError(f'flagos: {device!r} names no device: {reason}. Pass "flagos", "flagos:0" or 0.') from None


def is_negative(device: object) -> bool:
    """Whether `device` is a negative index, by which set_device(), device() and Stream() mean the current device."""
    return isinstance(device, int) and device < 0


def index_of(device: DeviceLike) -> int:
    """The index of a flagos device. Raises ValueError for what is none, or is one that doesn't exist."""
    if isinstance(device, str):
        device = _parsed(device)
    if isinstance(device, torch.device):
        if device.type != "flagos":
            raise ValueError(f'flagos: expected a flagos device, got {device}. Pass "flagos", "flagos:0" or 0.')
        device = device.index
    if device is None:
        return torch.accelerator.current_device_index()
    if not isinstance(device, int):
        raise ValueError(
            f'flagos: expected a flagos device, its name or its index, got {device!r} of type {type(device).__name__}. '
            'Pass torch.device("flagos"), "flagos:0" or 0.'
        )
    if not 0 <= device < count():
        raise ValueError(f"flagos: there is no device flagos:{device} (FLAGOS_TARGET={target()} has {_existing()}).")
    return int(device)


def needs_cuda(what: str) -> RuntimeError:
    """The error of a question that only a CUDA target can answer."""
    return RuntimeError(f"flagos: {what} is not available on the CPU target (FLAGOS_TARGET).")
