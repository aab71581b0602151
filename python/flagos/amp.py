"""`torch.flagos.amp`: automatic mixed precision under its device's name, as in torch.cuda.amp."""

from __future__ import annotations

from typing import Any

import torch


class autocast(torch.amp.autocast_mode.autocast):
    """torch.autocast("flagos", ...)."""

    def __init__(self, enabled: bool = True, dtype: torch.dtype | None = None, cache_enabled: bool = True) -> None:
        super().__init__("flagos", dtype=dtype, enabled=enabled, cache_enabled=cache_enabled)


class GradScaler(torch.amp.grad_scaler.GradScaler):
    """torch.amp.GradScaler("flagos", ...)."""

    def __init__(self, **options: Any) -> None:
        super().__init__("flagos", **options)
