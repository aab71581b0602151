"""`torch.flagos.amp`: automatic mixed precision under its device's name, as in torch.cuda.amp."""

from __future__ import annotations

import functools
from typing import Any

import torch

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

# Decorators of an autograd.Function's forward() and backward(); keywords as in torch.amp.
custom_fwd = functools.partial(torch.amp.autocast_mode.custom_fwd, device_type="flagos")
custom_bwd = functools.partial(torch.amp.autocast_mode.custom_bwd, device_type="flagos")


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast("flagos", ...)."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__("flagos", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.grad_scaler.GradScaler):
    """torch.amp.GradScaler("flagos", ...)."""

    def __init__(self, **options: Any) -> None:
        super().__init__("flagos", **options)
