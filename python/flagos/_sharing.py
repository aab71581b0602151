"""torch.multiprocessing: queues, pipes, arguments of processes, DataLoader workers.

The target's memory is shared as the target shares it: through shared memory on the CPU, through CUDA's handles of
memory on CUDA, with CUDA's rules (the sender keeps the tensor alive; no CUDA in a forked child). The receiver's tensor is
on flagos, over the same memory. Objects that hold a storage alone, such as Tensor subclasses, are shared too.
"""

from __future__ import annotations

from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing import reductions

from flagos._saving import name_target
from flagos._tensors import as_flagos, is_flagos
from flagos.storage import device_of_memory, handle, is_handle


def rebuild_tensor(rebuild: Callable[..., torch.Tensor], args: tuple[Any, ...]) -> torch.Tensor:
    """In the receiver: the flagos tensor over what `rebuild` makes on the target."""
    made = rebuild(*args)
    moved = as_flagos(made.detach())
    if isinstance(made, torch.nn.Parameter):
        return torch.nn.Parameter(moved, made.requires_grad)
    return moved.requires_grad_(made.requires_grad)


def rebuild_storage(rebuild: Callable[..., torch.Tensor], args: tuple[Any, ...]) -> torch.UntypedStorage:
    """In the receiver: the storage of the bytes that `rebuild` makes on the target, saying flagos."""
    return handle(rebuild(*args).untyped_storage())


def _reduce_tensor(tensor: torch.Tensor) -> Any:
    if not is_flagos(tensor):
        return reductions.reduce_tensor(tensor)  # type: ignore[no-untyped-call]
    name_target(tensor)
    return rebuild_tensor, reductions.reduce_tensor(tensor)  # type: ignore[no-untyped-call]


def _reduce_storage(storage: torch.UntypedStorage) -> Any:
    if not is_handle(storage):
        return reductions.reduce_storage(storage)  # type: ignore[no-untyped-call]
    seen = torch.empty(0, dtype=torch.uint8, device=device_of_memory(storage)).set_(storage)
    return rebuild_storage, reductions.reduce_tensor(seen)  # type: ignore[no-untyped-call]


def register() -> None:
    """Called once, when the package registers the device."""
    ForkingPickler.register(torch.Tensor, _reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, _reduce_tensor)
    ForkingPickler.register(torch.UntypedStorage, _reduce_storage)
