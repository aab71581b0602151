"""One buffer for the weights of a recurrent layer, as cuDNN wants them.

torch.nn.RNNBase.flatten_parameters makes the weights views of one buffer, but only of CUDA tensors; without that cuDNN
copies them in every call, and says so.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.modules.rnn import RNNBase

from flagos._tensors import as_flagos

Flatten = Callable[[RNNBase], None]


def on_flagos(stock: Flatten) -> Flatten:
    """`stock`, shown the target's views of flagos weights, which then take over the memory that those were given."""

    def flatten_parameters(self: RNNBase) -> None:
        given = [w for w in self._flat_weights if w is not None]  # None: its attribute was deleted
        weights = [w for w in given if type(w) in (torch.Tensor, torch.nn.Parameter) and w.is_flagos]
        if not weights or len(weights) != len(self._flat_weights):
            stock(self)
            return
        seen = torch.ops.flagos._to_target([weight.data for weight in weights])
        before = [weight.data_ptr() for weight in seen]
        unchanged, self._flat_weights = self._flat_weights, seen
        try:
            stock(self)
        finally:
            self._flat_weights = unchanged
        for weight, target, pointer in zip(weights, seen, before):
            if target.data_ptr() != pointer:
                weight.data = as_flagos(target)

    flatten_parameters.__doc__ = stock.__doc__
    return flatten_parameters


def register() -> None:
    """Once, for a target that may have cuDNN."""
    setattr(RNNBase, "flatten_parameters", on_flagos(RNNBase.flatten_parameters))
