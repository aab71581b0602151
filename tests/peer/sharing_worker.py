"""What sharing_test.py runs in a child process."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import Dataset

import flagos  # noqa: F401  a child that was spawned names the device before it gets a tensor


def described(value: Any) -> Any:
    """What the child sees: kinds, devices and values."""
    if isinstance(value, torch.Tensor):
        return type(value).__name__, str(value.device), value.requires_grad, value.detach().to_dense().tolist()
    return str(value.device), value.tolist()


def answer(questions: Any, answers: Any) -> None:
    """Describes what comes, fills it with two where it is dense, and sends it back; ends at None."""
    while (value := questions.get()) is not None:
        seen = described(value)
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            with torch.no_grad():
                value.fill_(2)
        answers.put((seen, value))
    questions.get()  # what was sent is kept until the other side has it


class Rows(Dataset[torch.Tensor]):
    """Rows that are on `device` already when a worker gives them."""

    def __init__(self, device: str) -> None:
        self.device = device

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.full((3,), float(index), device=self.device)
