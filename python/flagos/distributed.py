"""Tells torch.distributed which of its backends serve flagos tensors: those that serve the target.

The library runs each `c10d::` operator on the target's view of its tensors (lib/ops/collectives.h), so gloo, NCCL and
their like need not know flagos. What is left is to name them where PyTorch looks a device type up.
"""

from __future__ import annotations

import torch

from flagos._library import target

_NAME = "flagos"


def register() -> None:
    """Gives flagos the target's default backend, and the device list of every backend that serves the target.

    May be called again, for instance after `Backend.register_backend` made a backend known that serves the target.
    """
    if not torch.distributed.is_available():
        return
    from torch.distributed import Backend

    native = target()
    Backend.default_device_backend_map.setdefault(_NAME, Backend.default_device_backend_map[native])
    for devices in Backend.backend_capability.values():
        if native in devices and _NAME not in devices:
            devices.append(_NAME)
