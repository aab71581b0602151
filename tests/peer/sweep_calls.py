"""The ways in which the sweep calls an OpInfo entry. Each takes (op, sample, device) and gives an observation."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Callable

import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_map

from sweep_copies import Copier, noise, tensors
from sweep_observed import TARGET, observe, raised, shared

HOST_ARGUMENTS = {"tensor_split"}  # whose tensors but the first have to be on the CPU on every device
# The engine runs a device's backward on a thread of its own, and numbers nodes by thread; in a backward through a
# backward the numbers decide in which order terms are added. So the CPU's runs on another thread too; main() of
# sweep_worker.py sees to it that the numbers of the first thread are the greater ones in both arms.
_BACKWARD_THREAD = ThreadPoolExecutor(1)


def arguments_on(op: Any, sample: Any, device: str, grad: bool) -> tuple[Any, tuple, dict]:
    """The sample's input, args and kwargs, copied to the device."""
    value, args, kwargs = Copier(device, grad).tree((sample.input, tuple(sample.args), dict(sample.kwargs)))
    if op.name in HOST_ARGUMENTS:
        args, kwargs = Copier("cpu", grad).tree((tuple(sample.args), dict(sample.kwargs)))
    kwargs.pop("disable_fastpath", None)  # for PyTorch's own test of the foreach operators
    return value, args, kwargs


def _seen(results: Any, arguments: Any, device: str) -> dict[str, Any]:
    left = [seen | {"place": ""} if isinstance(seen, dict) else seen for seen in observe(arguments, device)]
    return {"result": observe(results, device), "argument": left, "shared": shared(results, arguments)}


def forward(op: Any, sample: Any, device: str) -> dict[str, Any]:
    value, args, kwargs = arguments = arguments_on(op, sample, device, grad=False)
    return _seen(op(value, *args, **kwargs), arguments, device)


def _differentiable(results: Any, sample: Any) -> list[torch.Tensor]:
    """The results that can be differentiated; sparse ones as strided."""
    found = tensors(sample.output_process_fn_grad(results))
    return [t if t.layout == torch.strided else t.to_dense() for t in found if t.requires_grad]


def _gradients(results: Any, sample: Any, arguments: Any, device: str, order: int) -> dict[str, Any]:
    """What `order` derivatives by every argument, and by the cotangents from the second on, give."""
    inputs = [t for t in tensors(arguments) if t.requires_grad]
    seen = _seen(results, arguments, device)
    outputs = _differentiable(results, sample)
    for number in range(1, order + 1):
        if not outputs or not inputs:
            break
        cotangents = [noise(t, device, number * 100 + i).requires_grad_(order > 1) for i, t in enumerate(outputs)]
        made = _derivatives(outputs, inputs, cotangents, device, create_graph=number < order)
        seen[f"gradient {number}"] = observe(list(made), device)
        outputs = [t for t in made if t is not None and t.requires_grad]
        inputs = inputs + cotangents if number < order else inputs
    return seen


def _derivatives(outputs: list, inputs: list, cotangents: list, device: str, create_graph: bool) -> tuple:
    def derive() -> tuple:
        return torch.autograd.grad(outputs, inputs, cotangents, allow_unused=True, create_graph=create_graph)

    return _BACKWARD_THREAD.submit(derive).result() if device == TARGET else derive()


def backward(op: Any, sample: Any, device: str, order: int = 1) -> dict[str, Any]:
    value, args, kwargs = arguments = arguments_on(op, sample, device, grad=True)
    return _gradients(op(value, *args, **kwargs), sample, arguments, device, order)


def second_order(op: Any, sample: Any, device: str) -> dict[str, Any]:
    return backward(op, sample, device, order=2)


def forward_mode(op: Any, sample: Any, device: str) -> dict[str, Any]:
    value, args, kwargs = arguments = arguments_on(op, sample, device, grad=True)
    seeds = iter(range(1000, 10000))

    def dual(leaf: Any) -> Any:
        if isinstance(leaf, torch.Tensor) and leaf.requires_grad:
            return forward_ad.make_dual(leaf.detach(), noise(leaf, device, next(seeds)))
        return leaf

    with forward_ad.dual_level():
        value, args, kwargs = tree_map(dual, arguments)
        results = tensors(sample.output_process_fn_grad(op(value, *args, **kwargs)))
        pairs = [forward_ad.unpack_dual(t) for t in results]
        return {"primal": observe([p.primal for p in pairs], device),
                "tangent": observe([p.tangent for p in pairs], device)}


def in_place(op: Any, sample: Any, device: str) -> dict[str, Any]:
    value, args, kwargs = arguments = arguments_on(op, sample, device, grad=False)
    result = op.get_inplace()(value, *args, **kwargs)
    return _seen(result, arguments, device) | {"versions": [t._version for t in tensors(arguments)]}


def in_place_backward(op: Any, sample: Any, device: str) -> dict[str, Any]:
    value, args, kwargs = arguments = arguments_on(op, sample, device, grad=True)
    clone = tree_map(lambda leaf: leaf.clone() if isinstance(leaf, torch.Tensor) else leaf, value)
    result = op.get_inplace()(clone, *args, **kwargs)
    return _gradients(clone if result is None else result, sample, arguments, device, 1)


def _out(like: torch.Tensor, form: str, device: str) -> torch.Tensor:
    """An output of a form, whose elements and gaps hold a pattern."""
    dtype = like.dtype
    if form == "other dtype":
        dtype = torch.int64 if dtype.is_floating_point or dtype.is_complex else torch.bool
    shape = list(like.shape)
    if form == "strided" and shape:
        shape[-1] *= 2
    if form == "to resize":
        shape = [0]
    made = torch.full(shape, 1, dtype=dtype).to(device)
    return made[..., ::2] if form == "strided" and shape else made


def out(op: Any, sample: Any, device: str) -> dict[str, Any]:
    """out= of the result's layout, strided, to be resized, and of another dtype.

    Not the version counter of one that is resized: PyTorch's resize_output counts once less on the CPU than on devices.
    """
    value, args, kwargs = arguments_on(op, sample, TARGET, grad=False)
    wanted = op(value, *args, **kwargs)
    seen: dict[str, Any] = {}
    for form in ("contiguous", "strided", "to resize", "other dtype"):
        outs = [_out(t, form, device) for t in tensors(wanted)]
        value, args, kwargs = arguments = arguments_on(op, sample, device, grad=False)
        _seed()
        try:
            result = op(value, *args, **kwargs, out=outs[0] if isinstance(wanted, torch.Tensor) else tuple(outs))
        except Exception as error:  # noqa: BLE001: the observation
            seen[form] = list(raised(error))
            continue
        seen[form] = observe((result, outs, [t._base for t in outs], arguments), device)
        seen[form] += [shared(result, outs), [t._version for t in outs] if form != "to resize" else []]
    return seen


def _seed() -> None:
    torch.manual_seed(0)
    random.seed(0)


def call(kind: Callable, op: Any, sample: Any, device: str) -> Any:
    """The observation of one call, an error's included."""
    _seed()
    try:
        return kind(op, sample, device)
    except Exception as error:  # noqa: BLE001: whatever the operator raises is the result
        return raised(error)
