"""torch.cuda.jiterator: kernels that users write as C++ text, compiled by PyTorch and launched without the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from flagos._tensors import as_flagos, as_target, is_flagos

Launch = Callable[[str, str, bool, int, tuple[torch.Tensor, ...], dict[str, Any]], Any]


def on_flagos(stock: Launch) -> Launch:
    """`stock`, shown the target's views of flagos tensors; its results are flagos tensors when any argument is."""

    def launch(
        code: str, name: str, by_reference: bool, outputs: int, tensors: tuple[torch.Tensor, ...], values: dict[str, Any]
    ) -> Any:
        if not any(map(is_flagos, tensors)):
            return stock(code, name, by_reference, outputs, tensors, values)
        made = stock(code, name, by_reference, outputs, tuple(map(as_target, tensors)), values)
        return as_flagos(made) if isinstance(made, torch.Tensor) else tuple(map(as_flagos, made))

    launch.__doc__ = stock.__doc__
    return launch


def register() -> None:
    """Once, for the CUDA target. PyTorch has no extension point there; the call is made by this name."""
    launch = getattr(torch._C, "_cuda_jiterator_compile_and_launch_kernel", None)
    if launch is not None:
        setattr(torch._C, "_cuda_jiterator_compile_and_launch_kernel", on_flagos(launch))
