"""Quantized tensors, and factories of tensors that are not dense.

A factory's kernel is chosen by the dtype and layout it is asked for, not by tensors: the fast path once missed that.
"""

from __future__ import annotations

import itertools
import unittest
import warnings
from typing import Any, Callable

import torch
import torch.nn.functional as F

import flagos
from target_case import DEVICE, NATIVE, Case, randn, reloaded

quantized = torch.ops.quantized


def per_tensor(device: str, *shape: int) -> torch.Tensor:
    return torch.quantize_per_tensor(randn(*(shape or (4, 6)), device=device), 0.1, 3, torch.quint8)


def per_channel(device: str) -> torch.Tensor:
    scales = torch.tensor([0.1, 0.2, 0.3, 0.4], dtype=torch.double).to(device)
    return torch.quantize_per_channel(randn(4, 6, device=device), scales, torch.zeros(4, dtype=torch.long).to(device), 0, torch.qint8)


def described(tensor: torch.Tensor) -> tuple:
    scheme = str(tensor.qscheme()) if tensor.is_quantized else ""
    return str(tensor.layout), str(tensor.dtype), tuple(tensor.shape), scheme


class Quantized(Case):
    def each(self, functions: dict[str, Callable[[torch.Tensor], torch.Tensor]]) -> None:
        for make, (name, function) in itertools.product((per_tensor, per_channel), functions.items()):
            with self.subTest(f"{make.__name__} {name}"):
                def whole(d: str, make=make, function=function) -> Any:
                    result = function(make(d))
                    self.assertEqual(result.device.type, "cpu" if name.startswith("to the host") else d)
                    return result.int_repr(), *described(result)
                self.check(whole)

    def test_copies(self) -> None:
        self.each({
            "to the host": lambda q: q.cpu(), "back": lambda q: q.cpu().to(q.device), "clone": lambda q: q.clone(),
            "copy_": lambda q: torch.empty_like(q).copy_(q), "from the host": lambda q: torch.empty_like(q).copy_(q.cpu()),
            "to the host's": lambda q: torch.empty_like(q.cpu()).copy_(q),
            "load": lambda q: reloaded(q, weights_only=False),
            "to the host by load": lambda q: reloaded(q, map_location="cpu", weights_only=False),
            "slice": lambda q: q[1:3], "rows": lambda q: q.unbind(1)[0] if q.qscheme() == torch.per_tensor_affine else q[1:3], "alias": torch.ops.aten.alias, "split": lambda q: q.split(2)[1],
            "view": lambda q: q.view(4, 2, 3), "parameter": lambda q: torch.nn.Parameter(q, False),
        })

    def test_values_and_parameters(self) -> None:
        self.check(lambda d: [per_tensor(d).dequantize(), per_channel(d).dequantize(), per_tensor(d).q_scale(),
                              per_tensor(d).q_zero_point(), per_channel(d).q_per_channel_scales(),
                              per_channel(d).q_per_channel_zero_points(), per_channel(d).q_per_channel_axis()])
        self.check(lambda d: per_tensor(d).copy_(randn(4, 6, device=d)).int_repr())
        self.check_error(lambda d: randn(4, 6, device=d).copy_(per_tensor(d)))

    @unittest.skipIf(NATIVE != "cpu", "the CPU's operators")
    def test_operators(self) -> None:
        ones, zeros = (lambda d, n: torch.ones(n).to(d)), (lambda d, n: torch.zeros(n).to(d))
        calls = {
            "add": lambda d, q: quantized.add(q, q, 0.2, 0), "mul": lambda d, q: quantized.mul(q, q, 0.2, 0),
            "cat": lambda d, q: torch.cat([q, q]), "sigmoid": lambda d, q: torch.sigmoid(q), "relu": lambda d, q: torch.relu(q),
            "transposed": lambda d, q: q.t().contiguous(), "clamp": lambda d, q: torch.clamp(q, 0, 1),
            "index_select": lambda d, q: q.index_select(0, torch.tensor([1, 0]).to(d)), "mean": lambda d, q: q.mean(),
            "max_pool2d": lambda d, q: F.max_pool2d(q.view(1, 1, 4, 6), 2),
            "interpolate": lambda d, q: F.interpolate(q.view(1, 1, 4, 6), scale_factor=2),
            "layer_norm": lambda d, q: quantized.layer_norm(q, [6], ones(d, 6), zeros(d, 6), 1e-5, 0.1, 0),
            "batch_norm": lambda d, q: quantized.batch_norm2d(q.view(1, 4, 2, 3), ones(d, 4), zeros(d, 4), zeros(d, 4),
                                                              ones(d, 4), 1e-5, 0.1, 0),
            "linear": lambda d, q: quantized.linear(q, quantized.linear_prepack(
                torch.quantize_per_tensor(randn(3, 6, device=d), 0.1, 0, torch.qint8), zeros(d, 3)), 0.2, 1),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.check(lambda d, call=call: call(d, per_tensor(d)).int_repr())


class Factories(Case):
    def test_dtype_and_layout_choose_the_kernel(self) -> None:
        affine = {"scale": 0.1, "zero_point": 0, "dtype": torch.quint8}
        calls: dict[str, Callable[[str, torch.Tensor], torch.Tensor]] = {
            "empty coo": lambda d, v: torch.empty(2, 2, layout=torch.sparse_coo, device=d),
            "empty csr": lambda d, v: torch.empty(2, 2, layout=torch.sparse_csr, device=d),
            "zeros coo": lambda d, v: torch.zeros(2, layout=torch.sparse_coo, device=d),
            "zeros csr": lambda d, v: torch.zeros(2, 2, layout=torch.sparse_csr, device=d),
            "coo of a size": lambda d, v: torch.sparse_coo_tensor((3,), device=d),
            "coo": lambda d, v: torch.sparse_coo_tensor(torch.tensor([[0, 1]]).to(d), v, (3,)),
            "new_empty": lambda d, v: v.new_empty((2,), layout=torch.sparse_coo),
            "new_zeros": lambda d, v: v.new_zeros((2, 2), layout=torch.sparse_csr),
            "zeros_like": lambda d, v: torch.zeros_like(v, layout=torch.sparse_coo),
            "empty quantized": lambda d, v: torch.empty(2, dtype=torch.qint8, device=d),
            "affine": lambda d, v: torch._empty_affine_quantized((2,), device=d, **affine),
            "per channel": lambda d, v: torch._empty_per_channel_affine_quantized(
                (2,), scales=v.double(), zero_points=torch.zeros(2, dtype=torch.long).to(d), axis=0, dtype=torch.quint8, device=d),
        }
        for (name, call), on in itertools.product(calls.items(), (True, False)):
            with self.subTest(name, redispatch=on), warnings.catch_warnings(), flagos.redispatch(on):
                warnings.simplefilter("ignore")  # sparse CSR is in beta
                one, other = (_told(call, d) for d in (NATIVE, DEVICE))
                self.assertEqual(one, other)


def _told(call: Callable[[str, torch.Tensor], torch.Tensor], device: str) -> tuple | str:
    """What is made, or the type of the error."""
    try:
        made = call(device, torch.ones(2).to(device))
        return *described(made), made.device.type == device  # one without a quantizer has no scheme
    except Exception as error:  # noqa: BLE001: of the target, whatever it is
        return type(error).__name__


if __name__ == "__main__":
    unittest.main()
