"""Attention of jagged nested tensors: which kernel to use is asked in Python, of tensors that must be on CUDA."""

from __future__ import annotations

from types import ModuleType
from typing import Any

from flagos._tensors import as_target, is_flagos


def _seen(tensor: Any) -> Any:
    """The target's view of a jagged tensor on flagos, wanting gradients as that does."""
    if not is_flagos(tensor) or not tensor.is_nested:
        return tensor
    kind: Any = type(tensor)
    names, context = tensor.__tensor_flatten__()
    parts = {name: as_target(getattr(tensor, name).detach()) for name in names}
    made = kind.__tensor_unflatten__(parts, context, tensor.shape, tensor.stride())
    return made.requires_grad_(tensor.requires_grad)


def register(sdpa: ModuleType) -> None:
    """For the module torch.nested._internal.sdpa."""
    stock = sdpa.SDPAParams

    def params(query: Any, key: Any, value: Any, mask: Any, *rest: Any) -> Any:
        return stock(_seen(query), _seen(key), _seen(value), mask, *rest)

    setattr(sdpa, "SDPAParams", params)
