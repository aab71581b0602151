"""torch.jit.load of tensors on flagos.

PyTorch's C++ reader makes a tensor with flagos's dispatch keys and puts the loaded storage into it, and the device of the
storage with that: the target's, since storages name the target. The tensor is whole but for its device, and is given
another here; PyTorch offers nothing between reading and returning.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from typing import Any

import torch

_C: Any = torch._C
_FLAGOS_KEY = _C.DispatchKey.PrivateUse1


def _mend_device(tensor: torch.Tensor) -> None:
    """In place, so that the modules, lists and constants that hold the tensor need not be changed; memory stays shared."""
    keys = _C._dispatch_keys(tensor)
    if not keys.has(_FLAGOS_KEY) or tensor.device.type == "flagos":
        return
    device = torch.device("flagos", tensor.device.index or 0)
    whole = torch.empty(0, dtype=tensor.dtype, device=device)
    whole.set_(tensor.untyped_storage(), tensor.storage_offset(), tensor.size(), tensor.stride())
    tensor.data = whole


def _constants(graph: Any) -> Iterator[torch.Tensor]:
    for node in graph.findAllNodes("prim::Constant"):
        if node.hasAttribute("value") and node.kindOf("value") == "t":
            yield node.t("value")


def _attributes(module: Any, graph: Any) -> Iterator[Any]:
    """Those that the program reads: PyTorch lists parameters and buffers in Python, but no other attributes."""
    names = {node.s("name") for node in graph.findAllNodes("prim::GetAttr")}
    return (module.getattr(name) for name in sorted(names) if module.hasattr(name))


def _held(module: Any) -> Iterator[Any]:
    """What one torch._C.ScriptModule holds: tensors, and lists, tuples and dictionaries with tensors."""
    yield from (value for _, value in _C.ParameterDict(module).items())
    yield from (value for _, value in _C.BufferDict(module).items())
    for name in module._method_names():
        method = module._get_method(name)
        yield from _attributes(module, method.graph)
        yield from _constants(method.inlined_graph)  # of the functions that it calls, too


def _modules(module: Any) -> Iterable[Any]:
    yield module
    for _, child in _C.ModuleDict(module).items():
        yield from _modules(child)


def register() -> None:
    """Called once, when the package registers the device."""
    stock: Any = torch.jit.load

    @functools.wraps(stock)
    def load(*args: Any, **options: Any) -> Any:
        loaded = stock(*args, **options)
        for module in _modules(loaded._c):
            for tensor in torch.utils._pytree.tree_leaves(list(_held(module))):
                if isinstance(tensor, torch.Tensor):
                    _mend_device(tensor)
        return loaded

    setattr(torch.jit, "load", load)
