"""Storages of flagos tensors in Python: torch.save, torch.load(map_location), pickle.

A storage carries the target's device (kernels take a view's device from it), so Python would file a flagos tensor under
"cpu" or "cuda:0". A storage that is about to be saved, or was just loaded for flagos, becomes a FlagosStorage: the
same memory, whose `device` says flagos. PyTorch's own tagging and rebuilding then do the right thing.
"""

from __future__ import annotations

import copyreg
from typing import Any

import torch
from torch.serialization import register_package

from flagos._devices import count
from flagos._library import target

_NAME = "flagos"
_PRIORITY = 5  # before PyTorch's own CPU (10) and CUDA (20)


class FlagosStorage(torch.UntypedStorage):
    """Memory of the target that belongs to flagos tensors."""

    @property
    def device(self) -> torch.device:  # type: ignore[override]
        """flagos:N, where N is the target's device index."""
        return torch.device(_NAME, torch.UntypedStorage.device.__get__(self).index or 0)

    def clone(self) -> torch.UntypedStorage:
        """A copy on the same device, as a plain storage: what TypedStorage and deepcopy insist on."""
        device = torch.UntypedStorage.device.__get__(self)
        plain = torch.UntypedStorage(self.nbytes(), device=device)  # type: ignore[no-untyped-call]
        return plain.copy_(self)


def adopt(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """Makes `storage` say flagos. PyTorch keeps one Python object per storage, so every holder sees it."""
    if type(storage) is torch.UntypedStorage:
        storage.__class__ = FlagosStorage
    return storage


def _reduce(tensor: torch.Tensor) -> Any:
    """How any torch.Tensor is pickled: as before, with its storage saying flagos where the tensor does."""
    if tensor.device.type == _NAME and tensor.layout is torch.strided and torch._C._has_storage(tensor):
        torch.ops.flagos._to_target([tensor.detach()])  # memory from DLPack names the target from its first use on
        adopt(tensor.untyped_storage())
    return tensor.__reduce_ex__(2)  # type: ignore[no-untyped-call]


def _tag(storage: Any) -> str | None:
    return str(storage.device) if isinstance(storage, FlagosStorage) else None


def _restore(storage: Any, location: str) -> Any:
    """A loaded storage (on the CPU) on the target of `location`, saying flagos."""
    if not location.startswith(_NAME):
        return None
    index = torch.device(location).index
    index = torch.accelerator.current_device_index() if index is None else index
    if not 0 <= index < count():
        raise RuntimeError(
            f"torch.load: there is no device {location}; this process has {count()} flagos device(s). Pass "
            "map_location to choose another."
        )
    if target() != "cpu":
        return adopt(storage.to(device=torch.device(target(), index)))
    # Never a memory-mapped file's pages.
    copy = torch.UntypedStorage(storage.nbytes())  # type: ignore[no-untyped-call]
    copy.copy_(storage)
    return adopt(copy)


def register() -> None:
    """Called once, when the package registers the device."""
    copyreg.pickle(torch.Tensor, _reduce)
    register_package(_PRIORITY, _tag, _restore)
