"""torch.save, pickle and copy: the device of flagos tensors, of what is made from them, and of generators.

PyTorch reduces a tensor to its storage and takes the device from that; a flagos tensor's storage names the target's
(flagos/storage.py). Files hold nothing of this package: they load without it through map_location.
"""

from __future__ import annotations

import copyreg
import functools
from typing import Any

import torch

from flagos._tensors import as_flagos, as_target, is_flagos
from flagos.storage import device_of_memory, handle

_Tensor: Any = torch.Tensor
_TypedStorage: Any = torch.TypedStorage
_SPARSE = frozenset({torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc})


def _saying_flagos(value: Any) -> Any:
    """What stands for a tensor's storage, as a handle. Anything else as it is: type, layout, tensors to be reduced next.

    Bytes without a dtype become bytes of uint8: PyTorch can't load those without one from pickle and the old format.
    """
    if isinstance(value, torch.TypedStorage):
        untyped, dtype = value._untyped_storage, value.dtype
    elif isinstance(value, torch.UntypedStorage):
        untyped, dtype = value, torch.uint8
    else:
        return value
    if device_of_memory(untyped).type == "meta":
        return value
    return _TypedStorage(wrap_storage=handle(untyped), dtype=dtype, _internal=True)


def _reduce_sparse(tensor: torch.Tensor) -> Any:
    """As PyTorch reduces a sparse tensor with memory of its own, which to it only devices that it knows by name have.

    For any other it saves a copy on the CPU, and has that moved before the old format has read its values.
    """
    parts: tuple[Any, ...]
    if tensor.layout is torch.sparse_coo:
        parts = (tensor._indices(), tensor._values(), tensor.size(), tensor.is_coalesced())
    elif tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        parts = (tensor.crow_indices(), tensor.col_indices(), tensor.values(), tensor.size())
    else:
        parts = (tensor.ccol_indices(), tensor.row_indices(), tensor.values(), tensor.size())
    return torch._utils._rebuild_sparse_tensor, (tensor.layout, parts)


def _mend_reduce() -> None:
    """Has what a flagos tensor is reduced to say flagos.

    Pickle finds a registered reduction by exact type, and a subclass calls this method, so there is nothing to register.
    """
    stock = _Tensor._reduce_ex_internal

    @functools.wraps(stock)
    def reduce(tensor: torch.Tensor, proto: int) -> Any:
        if not is_flagos(tensor):
            return stock(tensor, proto)
        if tensor.layout in _SPARSE and type(tensor).__torch_dispatch__ is _Tensor.__torch_dispatch__:
            return _reduce_sparse(tensor)
        function, args = stock(tensor, proto)
        name_target(tensor)
        return function, (_saying_flagos(args[0]), *args[1:])

    _Tensor._reduce_ex_internal = reduce


def name_target(tensor: torch.Tensor) -> None:
    """Has the storage name the target: one over memory from DLPack does so only from its first use by an operator on."""
    if torch._C._has_storage(tensor) and device_of_memory(tensor.untyped_storage()).type == "flagos":
        as_target(tensor.detach())


def _mend_deepcopy() -> None:
    """deepcopy of what PyTorch would put on the device of the storage: quantized tensors, tensors from DLPack."""
    stock = _Tensor.__deepcopy__

    @functools.wraps(stock)
    def deepcopy(tensor: torch.Tensor, memo: dict[int, Any]) -> Any:
        # A subclass with __torch_function__ comes back here from there, if it wants to.
        if torch.overrides.has_torch_function_unary(tensor) or not is_flagos(tensor):
            return stock(tensor, memo)
        name_target(tensor)
        made = stock(tensor, memo)
        if made.device == tensor.device:
            return made
        moved = as_flagos(made)
        moved.__dict__ = made.__dict__
        memo[id(tensor)] = moved
        return moved

    _Tensor.__deepcopy__ = deepcopy


def rebuild_generator(device: str, state: torch.Tensor) -> torch.Generator:
    """A generator on `device` that goes on as another would have: `state` is that one's get_state()."""
    return torch.Generator(device).set_state(state)


def _reduce_generator(generator: torch.Generator) -> Any:
    """As PyTorch's own, but without the offset of a generator on flagos: the CPU target has none, CUDA's is in the state."""
    if generator.device.type != "flagos":
        return generator.__reduce__()
    return rebuild_generator, (str(generator.device), generator.get_state())


def register() -> None:
    """Called once, when the package registers the device."""
    copyreg.pickle(torch.Generator, _reduce_generator)
    _mend_reduce()
    _mend_deepcopy()
