"""One buffer for the weights of a recurrent layer, as cuDNN wants them.

torch.nn.RNNBase.flatten_parameters makes the weights views of one buffer, but only of CUDA tensors; without that cuDNN
copies them in every call, and says so.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn.modules.rnn import RNNBase

Flatten = Callable[[RNNBase], None]


def on_flagos(stock: Flatten) -> Flatten:
    """`stock`, shown the target's views of flagos weights, which then take over the memory that those were given."""

    def flatten_parameters(self: RNNBase) -> None:
        weights = self._flat_weights
        if not weights or not all(type(w) in (torch.Tensor, torch.nn.Parameter) and w.is_flagos for w in weights):
            stock(self)
            return
        seen = torch.ops.flagos._to_target([weight.data for weight in weights])
        before = [weight.data_ptr() for weight in seen]
        self._flat_weights = seen
        try:
            stock(self)
        finally:
            self._flat_weights = weights
        for weight, target, pointer in zip(weights, seen, before):
            if target.data_ptr() != pointer:
                weight.data = torch.ops.flagos._from_target([target])[0]

    flatten_parameters.__doc__ = stock.__doc__
    return flatten_parameters


def register(target: str) -> None:
    """Once, for a target that may have cuDNN."""
    if target == "cuda":
        RNNBase.flatten_parameters = on_flagos(RNNBase.flatten_parameters)
