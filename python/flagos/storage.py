"""Storages that say flagos: torch.UntypedStorage(n, device="flagos"), storage.to(device="flagos"), and what is saved.

A flagos tensor's storage carries the target's device, because kernels take a view's device from it, and PyTorch keeps one
Python object for it: `x.untyped_storage().device` is the target's. Where a storage is to say flagos it is a *handle*, a
second torch.UntypedStorage over the same memory, which no tensor holds. The memory lives as long as anything over it.
PyTorch's own taggers and deserializers, clone() and TypedStorage then do for flagos what they do for any device.
"""

from __future__ import annotations

from typing import Any

import torch

_NAME = "flagos"
_StorageBase: Any = torch._C.StorageBase
_target_device = _StorageBase.device  # in C++; what it says of any storage is the device of the memory


def device_of_memory(storage: torch.UntypedStorage) -> torch.device:
    """The target's device, where storage.device may say flagos."""
    device: torch.device = _target_device.__get__(storage)
    return device


def is_handle(storage: object) -> bool:
    return getattr(storage, "_says_flagos", False)


def handle(storage: torch.UntypedStorage, kind: type = torch.UntypedStorage) -> torch.UntypedStorage:
    """A new Python object over the memory of `storage`, which the target must own; its device is flagos:N."""
    made = _StorageBase.__new__(kind, 0)
    made._set_cdata(storage._cdata)
    made._says_flagos = True
    return made  # type: ignore[no-any-return]


def _device(storage: Any) -> torch.device:
    """The device of the storage."""
    device = device_of_memory(storage)
    return torch.device(_NAME, device.index or 0) if storage._says_flagos else device


def _new(kind: type, *args: Any, **options: Any) -> Any:
    """A storage; a handle when `device` is flagos. There is no hook in PyTorch: the device is the allocator's word."""
    made = _StorageBase.__new__(kind, *args, **options)
    device = options.get("device")
    if device is None or torch.device(device).type != _NAME or device_of_memory(made).type == "meta":
        return made
    return handle(made, kind)


def register() -> None:
    """Called once, when the package registers the device."""
    storage: Any = torch.UntypedStorage
    storage._says_flagos = False
    storage.device = property(_device)
    storage.__new__ = staticmethod(_new)
