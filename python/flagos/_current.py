"""Which devices there are and which is current; and whether the target is initialised."""

from __future__ import annotations

import torch

from flagos._devices import DeviceLike, count, index_of, is_negative, on_cuda


class device(torch.accelerator.device_index):
    """Makes a device current within a `with` block; None or a negative index changes nothing."""

    def __init__(self, device: DeviceLike) -> None:
        super().__init__(None if device is None or is_negative(device) else index_of(device))


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
    if not is_negative(device):
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


def is_in_bad_fork() -> bool:
    """Whether this process was forked after CUDA had been initialised, and so can't use it."""
    return on_cuda() and torch.cuda._is_in_bad_fork()
