"""The kinds of call that the sweep makes of an OpInfo entry."""

from __future__ import annotations

import unittest
from typing import Any, Callable, Iterator

import torch

from sweep_calls import backward, forward, forward_mode, in_place, in_place_backward, out, second_order
from sweep_transforms import functionalize, jvp, vjp, vmap

BY_ENGINE = (backward, in_place_backward, second_order, vjp)  # ways that run PyTorch's autograd engine
LAYOUTS = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)


def _sparse(op: Any, layout: torch.layout, dtype: torch.dtype, grad: bool = False) -> Iterator[Any]:
    """PyTorch's samples of the layout; where it has none, the strided ones with their first tensor in the layout."""
    try:
        yield from op.sample_inputs_sparse(layout, "cpu", dtype, requires_grad=grad)
        return
    except (NotImplementedError, unittest.SkipTest):
        pass
    block = {"blocksize": (1, 1)} if layout in (torch.sparse_bsr, torch.sparse_bsc) else {}
    for sample in op.sample_inputs("cpu", dtype):
        if isinstance(sample.input, torch.Tensor) and sample.input.dim() >= (1 if layout == torch.sparse_coo else 2):
            sample.input = sample.input.to_sparse(layout=layout, **block).requires_grad_(grad)
            yield sample


def kinds(op: Any, dtype: torch.dtype, foreach: bool) -> Iterator[tuple[str, Callable, Callable]]:
    """Name, way of calling and maker of samples of each kind of call that the entry has for the dtype."""

    def samples(grad: bool) -> Callable:
        counts = {"num_input_tensors": [3]} if foreach else {}
        return lambda: op.sample_inputs("cpu", dtype, requires_grad=grad, **counts)

    differentiable = dtype in op.supported_backward_dtypes("cpu")
    yield "forward", forward, samples(False)
    if differentiable:
        yield "backward", backward, samples(True)
        if op.supports_forward_ad:
            yield "forward-mode", forward_mode, samples(True)
        if op.supports_gradgrad and dtype in (torch.float64, torch.complex128):
            yield "second order", second_order, samples(True)
    if op.get_inplace():
        yield "in place", in_place, samples(False)
        if differentiable and op.supports_inplace_autograd:
            yield "in place, backward", in_place_backward, samples(True)
    if op.supports_out and not foreach:
        yield "out", out, samples(False)
    if not foreach and dtype in (torch.float32, torch.complex64):
        yield "vmap", vmap, samples(False)
        yield "functionalize", functionalize, samples(False)
        if differentiable:
            yield "vjp", vjp, samples(True)
            if op.supports_forward_ad:
                yield "jvp", jvp, samples(True)
    for layout in LAYOUTS:
        if op.supports_sparse_layout(layout):
            name = str(layout).removeprefix("torch.")
            yield name, forward, lambda layout=layout: _sparse(op, layout, dtype)
            if differentiable:
                yield f"{name}, backward", backward, lambda layout=layout: _sparse(op, layout, dtype, grad=True)


def error_kinds(op: Any) -> Iterator[tuple[str, Callable, Callable]]:
    """As `kinds`, of the inputs that the operator has to refuse."""
    if op.error_inputs_func is not None:
        yield "errors", forward, lambda: (each.sample_input for each in op.error_inputs("cpu"))
    for layout in LAYOUTS:
        if op.supports_sparse_layout(layout) and op.error_inputs_sparse_func is not None:
            name = str(layout).removeprefix("torch.")
            yield f"{name}, errors", forward, lambda layout=layout: (
                each.sample_input for each in op.error_inputs_sparse("cpu", layout))
