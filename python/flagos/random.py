"""Random number state. A flagos generator wraps the target's, so seeding either seeds both."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from flagos._devices import DeviceLike, count, index_of, on_cuda

__all__ = [
    "get_rng_state",
    "get_rng_state_all",
    "initial_seed",
    "manual_seed",
    "manual_seed_all",
    "seed",
    "seed_all",
    "set_rng_state",
    "set_rng_state_all",
]


def get_rng_state(device: DeviceLike = "flagos") -> torch.Tensor:
    """The state of a device's default generator: a byte tensor on the CPU."""
    index = index_of(device)
    return torch.cuda.get_rng_state(index) if on_cuda() else torch.default_generator.get_state()


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = "flagos") -> None:
    index = index_of(device)
    if on_cuda():
        torch.cuda.set_rng_state(new_state, index)
    else:
        torch.default_generator.set_state(new_state)


def get_rng_state_all() -> list[torch.Tensor]:
    return [get_rng_state(index) for index in range(count())]


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    for index, state in enumerate(new_states):
        set_rng_state(state, index)


def manual_seed(seed: int) -> None:
    """Seeds the current device's default generator."""
    if on_cuda():
        torch.cuda.manual_seed(seed)
    else:
        torch.default_generator.manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds every device's default generator; torch.manual_seed calls it."""
    if on_cuda():
        torch.cuda.manual_seed_all(seed)
    else:
        torch.default_generator.manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device's default generator with a random number."""
    if on_cuda():
        torch.cuda.seed()
    else:
        torch.default_generator.seed()


def seed_all() -> None:
    if on_cuda():
        torch.cuda.seed_all()
    else:
        torch.default_generator.seed()


def initial_seed() -> int:
    return torch.cuda.initial_seed() if on_cuda() else torch.default_generator.initial_seed()
