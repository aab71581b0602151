"""A rank of distributed_test.py as its scenarios see it: who it is, and where they write down what came out."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path
from typing import Any, Callable

import torch

DEVICE, RANK, WORLD, FOLDER, BACKEND = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]), sys.argv[5]
SEEN: dict[str, Any] = {}
SCENARIOS: dict[str, Callable[[], None]] = {}

if DEVICE == "flagos":
    import flagos  # noqa: F401


def scenario(run: Callable[[], None]) -> Callable[[], None]:
    """Makes a function known by its name."""
    SCENARIOS[run.__name__] = run
    return run


def digest(tensor: torch.Tensor) -> str:
    """Shape, dtype and bits. Fails for a tensor that is not where the arm's tensors belong."""
    assert tensor.device.type == DEVICE, f"a result on {tensor.device}"
    data = tensor.detach().to_dense() if tensor.is_sparse else tensor.detach()
    raw = data.cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes()
    return f"{tuple(tensor.shape)} {tensor.dtype} {hashlib.sha256(raw).hexdigest()[:12]}"


def see(name: str, *tensors: torch.Tensor) -> None:
    """Records results under the scenario's own name for them."""
    SEEN[name] = [digest(tensor) for tensor in tensors]


def mine(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Noise that differs from rank to rank."""
    generator = torch.Generator().manual_seed(100 * seed + RANK)
    return (torch.randn(*shape, generator=generator) * 8).to(dtype).to(DEVICE)


def empties(count: int, *shape: int) -> list[torch.Tensor]:
    return [torch.full(shape, -1.0, device=DEVICE) for _ in range(count)]
