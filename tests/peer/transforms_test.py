"""Composites that ask for the device, under functionalization, torch.func's transforms and AOTAutograd; fake tensors.

There PyTorch takes them apart above the device; which kernels it then reaches must not depend on the device's name. On
CUDA that is cuDNN for norms and recurrent networks.
"""

from __future__ import annotations

import re
import unittest
from typing import Callable

import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves

import flagos
from target_case import DEVICE, NATIVE, Case, randn

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
                   functions: tuple[Function, ...] = FUNCTIONS, exact: bool = True) -> None:
        for function in functions:
            with self.subTest(function.__name__):
                self.check(lambda d, function=function: transform(function)(randn(*shape, device=d)), exact)

    def test_functionalization(self) -> None:
        self.check_each(torch.func.functionalize, 3, 4, 5, 6)

    def test_vmap(self) -> None:
        # vmap's own rule calls PyTorch's composite without the dispatcher, which gives cuDNN CUDA's tensors alone.
        self.check_each(torch.vmap, 2, 3, 4, 5, 6, exact=NATIVE == "cpu")

    def test_forward_mode(self) -> None:
        def tangent(function: Function) -> Function:
            return lambda x: torch.func.jvp(function, (x,), (torch.ones_like(x),))

        self.check_each(tangent, 3, 4, 5, 6, functions=(batch_norm, instance_norm, group_norm))

    def test_aot_autograd(self) -> None:
        for dynamic in (False, True):
            torch._dynamo.reset()
            # Whether cuDNN samples is not asked for symbolic sizes.
            self.check_each(lambda f: torch.compile(f, backend="aot_eager", dynamic=dynamic), 3, 4, 5, 6,
                            exact=NATIVE == "cpu" or not dynamic)


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


class FakeTensors(Case):
    """Of an operator without a Meta kernel PyTorch makes real tensors like the fake ones, and runs the device's kernel."""

    def test_operators_without_a_meta_kernel(self) -> None:
        calls: dict[str, Callable[[torch.Tensor], object]] = {
            "geqrf": torch.geqrf, "ormqr": lambda x: torch.ormqr(x, x[0], x), "grid_sample": grid_of_matrix}
        for name, call in calls.items():
            with self.subTest(name):
                seen = []
                for device in (NATIVE, DEVICE):
                    with FakeTensorMode():
                        results = tree_leaves(call(torch.empty(4, 4, device=device)))
                    self.assertEqual({r.device.type for r in results}, {device})
                    seen.append([(r.shape, r.stride(), r.dtype) for r in results])
                self.assertEqual(*seen)
                torch._dynamo.reset()
                self.check(lambda d, call=call: torch.compile(call, backend="aot_eager")(randn(4, 4, device=d)))

    def test_real_tensors_like_a_fake_one(self) -> None:
        names = [name for name in torch._C._dispatch_get_all_op_names()
                 if re.fullmatch(r"aten::(\w+_like|new_\w+)", name)]
        self.assertIn("aten::randn_like", names)
        more = {"full_like": [2.0], "randint_like": [5], "new_empty": [[2]], "new_zeros": [[2]], "new_ones": [[2]],
                "new_full": [[2], 1.0], "new_empty_strided": [[2], [3]]}
        for name in names:
            op = name.removeprefix("aten::")
            seen = []
            for device in (NATIVE, DEVICE):
                with FakeTensorMode():
                    fake = torch.empty(3, 4, device=device).t()
                for enabled in (True, False):
                    with self.subTest(f"{op} on {device}, redispatch {enabled}"), no_dispatch(), flagos.redispatch(enabled):
                        made = getattr(torch.ops.aten, op).default(fake, *more.get(op, []), device=device)
                        self.assertIs(type(made), torch.Tensor)
                        self.assertEqual(made.device.type, device)
                        self.assertTrue(made.untyped_storage().data_ptr())
                        seen.append((made.shape, made.stride(), made.dtype))
            self.assertEqual(len(set(seen)), 1, (op, seen))


def grid_of_matrix(x: torch.Tensor) -> torch.Tensor:
    """cudnn_grid_sampler has no Meta kernel."""
    return F.grid_sample(x[None, None], x[None, :, :, None].expand(1, 4, 4, 2).tanh(), align_corners=True)


if __name__ == "__main__":
    unittest.main()
