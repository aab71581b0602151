"""Composites that ask for the device, under functionalization, torch.func's transforms and AOTAutograd.

There PyTorch takes them apart above the device; which kernels it then reaches must not depend on the device's name. On
CUDA that is cuDNN for norms and recurrent networks.
"""

from __future__ import annotations

import unittest
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn

from target_case import Case, randn

Function = Callable[[torch.Tensor], torch.Tensor]


def batch_norm(x: torch.Tensor) -> torch.Tensor:
    ones = torch.ones(x.shape[1], device=x.device)
    return F.batch_norm(x, None, None, ones * 0.5, ones * 0.25, training=True)


def instance_norm(x: torch.Tensor) -> torch.Tensor:
    ones = torch.ones(x.shape[1], device=x.device)
    return F.instance_norm(x, weight=ones * 2, bias=ones * 0.5)


def grid_sample(x: torch.Tensor) -> torch.Tensor:
    grid = torch.linspace(-1.2, 1.2, x.shape[0] * 3 * 2 * 2, device=x.device).view(x.shape[0], 3, 2, 2)
    return F.grid_sample(x, grid, align_corners=True)


def group_norm(x: torch.Tensor) -> torch.Tensor:
    return F.group_norm(x, 2)


FUNCTIONS: tuple[Function, ...] = (batch_norm, instance_norm, grid_sample, group_norm)


class Composites(Case):
    def check_each(self, transform: Callable[[Function], Function], *shape: int,
                   functions: tuple[Function, ...] = FUNCTIONS) -> None:
        for function in functions:
            with self.subTest(function.__name__):
                self.check(lambda d, function=function: transform(function)(randn(*shape, device=d)))

    def test_functionalization(self) -> None:
        self.check_each(torch.func.functionalize, 3, 4, 5, 6)

    def test_vmap(self) -> None:
        self.check_each(torch.vmap, 2, 3, 4, 5, 6)

    def test_forward_mode(self) -> None:
        def tangent(function: Function) -> Function:
            return lambda x: torch.func.jvp(function, (x,), (torch.ones_like(x),))

        self.check_each(tangent, 3, 4, 5, 6, functions=(batch_norm, instance_norm, group_norm))

    def test_aot_autograd(self) -> None:
        for dynamic in (False, True):
            torch._dynamo.reset()
            self.check_each(lambda f: torch.compile(f, backend="aot_eager", dynamic=dynamic), 3, 4, 5, 6)


class RecurrentNetworks(Case):
    def test_functionalization(self) -> None:
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for options in ({}, {"num_layers": 2, "bidirectional": True}, {"batch_first": True, "bias": False}):
                with self.subTest(f"{kind.__name__} {options}"):
                    self.check(lambda d: self.run_functionalized(kind(4, 5, **options), d, packed=False))
            with self.subTest(f"{kind.__name__} packed"):
                self.check(lambda d: self.run_functionalized(kind(4, 5), d, packed=True))

    @staticmethod
    def run_functionalized(module: nn.Module, device: str, packed: bool) -> list[torch.Tensor]:
        torch.manual_seed(0)
        for parameter in module.parameters():
            nn.init.uniform_(parameter, -0.5, 0.5)
        module = module.to(device).requires_grad_(False)

        def forward(x: torch.Tensor) -> list[torch.Tensor]:
            fed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([6, 4, 1])) if packed else x
            output, hidden = module(fed)
            return [output.data if packed else output, *(hidden if isinstance(hidden, tuple) else (hidden,))]

        return torch.func.functionalize(forward)(randn(6, 3, 4, device=device))


if __name__ == "__main__":
    unittest.main()
