"""torch.distributed.checkpoint on a machine with another accelerator than flagos.

Its file writer overlaps copies to the host with writing, and moves only tensors of the one device type that
torch._utils._get_available_device_type() finds: "cuda" where there is CUDA, even when the tensors are on flagos.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import torch

from flagos._tensors import as_target


def _shown(resolve: Callable[[Any], torch.Tensor]) -> Callable[[Any], torch.Tensor]:
    """`resolve`, with the target's view of what is on flagos: CUDA's are moved, the CPU's need not be."""

    def resolved(item: Any) -> torch.Tensor:
        seen: torch.Tensor = as_target(resolve(item).detach())
        return seen

    return resolved


def register(filesystem: ModuleType) -> None:
    """For the module torch.distributed.checkpoint.filesystem."""
    loader: Any = filesystem._OverlappingCpuLoader

    class OverlappingCpuLoader(loader):  # type: ignore[misc]
        resolve_fun: Any

        def __init__(self, *args: Any, **kwargs: Any) -> None:
            super().__init__(*args, **kwargs)
            if self.device_type != "flagos":
                self.resolve_fun = _shown(self.resolve_fun)

    OverlappingCpuLoader.__doc__ = loader.__doc__
    setattr(filesystem, "_OverlappingCpuLoader", OverlappingCpuLoader)
