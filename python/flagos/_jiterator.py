"""torch.cuda.jiterator: kernels that users write as C++ text, compiled by PyTorch and launched without the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Launch = Callable[[str, str, bool, int, tuple[torch.Tensor, ...], dict[str, Any]], Any]


def _is_flagos(value: Any) -> bool:  # anything but a tensor is for PyTorch to refuse
    return isinstance(value, torch.Tensor) and value.device.type == "flagos"


def on_flagos(stock: Launch) -> Launch:
    """`stock`, shown the target's views of flagos tensors; its results are flagos tensors when any argument is."""

    def launch(
        code: str, name: str, by_reference: bool, outputs: int, tensors: tuple[torch.Tensor, ...], values: dict[str, Any]
    ) -> Any:
        if not any(map(_is_flagos, tensors)):
            return stock(code, name, by_reference, outputs, tensors, values)
        seen = tuple(torch.ops.flagos._to_target([t])[0] if _is_flagos(t) else t for t in tensors)
        made = stock(code, name, by_reference, outputs, seen, values)
        if isinstance(made, torch.Tensor):
            return torch.ops.flagos._from_target([made])[0]
        return tuple(torch.ops.flagos._from_target(list(made)))

    launch.__doc__ = stock.__doc__
    return launch


def register() -> None:
    """Once, for the CUDA target. PyTorch has no extension point there; the call is made by this name."""
    launch = getattr(torch._C, "_cuda_jiterator_compile_and_launch_kernel", None)
    if launch is not None:
        setattr(torch._C, "_cuda_jiterator_compile_and_launch_kernel", on_flagos(launch))
