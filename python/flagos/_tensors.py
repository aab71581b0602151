"""Flagos tensors and the target's views of them, for Python that PyTorch calls below autograd."""

from __future__ import annotations

from typing import Any

import torch


def is_flagos(value: object) -> bool:
    """Whether `value` is a flagos tensor, real or fake."""
    return isinstance(value, torch.Tensor) and value.device.type == "flagos"


def as_target(value: Any) -> Any:
    """The target's view of a flagos tensor: the same memory, without history. Anything else as it is."""
    return torch.ops.flagos._to_target([value])[0] if is_flagos(value) else value


def as_flagos(tensor: torch.Tensor) -> torch.Tensor:
    """The flagos tensor over a tensor of the target: the same memory, without history."""
    made: torch.Tensor = torch.ops.flagos._from_target([tensor])[0]
    return made
