"""Copies of an OpInfo sample on a device: a call must not see what an earlier call left, or the other device's memory.

A strided tensor is copied with its whole storage, so that strides, offsets, gaps and shared memory are those of the
sample. Lazy conjugate and negative bits and zero tensors stay what they are.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_map


def tensors(tree: Any) -> list[torch.Tensor]:
    """The tensors of a tree, in order."""
    return [leaf for leaf in tree_flatten(tree)[0] if isinstance(leaf, torch.Tensor)]


class Copier:
    """Copies trees to one device; tensors that share a storage share one in the copy."""

    def __init__(self, device: str, grad: bool) -> None:
        """`grad`: whether the copy of a tensor that requires grad is a leaf that does."""
        self._device = device
        self._grad = grad
        self._flat: dict[tuple, torch.Tensor] = {}

    def tree(self, tree: Any) -> Any:
        """The tree with its tensors and devices on the device."""
        return tree_map(self._leaf, tree)

    def _leaf(self, leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor):
            with torch.no_grad():
                copy = self._tensor(leaf.detach())
            return copy.requires_grad_() if leaf.requires_grad and self._grad else copy
        if isinstance(leaf, torch.device) or leaf == "cpu":
            return torch.device(self._device)
        return leaf

    def _tensor(self, tensor: torch.Tensor) -> torch.Tensor:
        if tensor.layout != torch.strided or tensor.is_quantized or tensor.is_nested:
            return tensor.clone().to(self._device)
        if tensor._is_zerotensor():
            return torch._efficientzerotensor(tensor.shape, dtype=tensor.dtype, device=self._device)
        if tensor.is_conj():
            return self._tensor(tensor.conj()).conj()
        if tensor.is_neg():
            return torch._neg_view(self._tensor(torch._neg_view(tensor)))
        storage = tensor.untyped_storage()
        key = (storage._cdata, tensor.dtype)
        if key not in self._flat:
            count = storage.nbytes() // tensor.element_size()
            flat = torch.empty(0, dtype=tensor.dtype).set_(storage, 0, (count,), (1,))
            self._flat[key] = flat.clone().to(self._device)
        return self._flat[key].as_strided(tensor.shape, tensor.stride(), tensor.storage_offset()).detach()


def noise(like: torch.Tensor, device: str, seed: int) -> torch.Tensor:
    """A strided tensor of the shape and dtype of `like`, the same on every device."""
    generator = torch.Generator().manual_seed(seed)
    wide = torch.complex128 if like.dtype.is_complex else torch.float64
    return torch.randn(like.shape, generator=generator, dtype=wide).to(like.dtype).to(device)
