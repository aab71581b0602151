"""What the corpus runs: PyTorch's own OpInfo, module and optimizer samples, forward and backward, on the CPU.

PyTorch's samples are used because they are written by each operator's authors and cover the shapes and options that
the operator treats differently; anything that we would invent would cover less.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.utils._pytree as pytree
from torch.testing._internal import common_methods_invocations as opinfos
from torch.testing._internal.common_modules import module_db
from torch.testing._internal.common_optimizers import optim_db

Unit = tuple[str, Callable[[], None]]

SAMPLES_AN_OP = 8
# Later samples show an operator's rarer options; every STRIDE-th of them is enough.
LATER_SAMPLES = 32
STRIDE = 6

# Samples of sparse compressed tensors: a trace has no strides for them, and recording one upsets the recorder's stack.
NOT_RECORDABLE = ("sparse.", "to_sparse", "jiterator_", "sparse_")


def _picked(samples: Iterator[Any], first: int = SAMPLES_AN_OP) -> Iterator[Any]:
    """The first samples, and some later ones: an OpInfo may have hundreds, most of them alike."""
    for index, sample in enumerate(itertools.islice(samples, LATER_SAMPLES)):
        if index < first or index % STRIDE == 0:
            yield sample


def _strided_only(tree: Any) -> bool:
    leaves = pytree.tree_leaves(tree)
    return all(leaf.layout == torch.strided for leaf in leaves if isinstance(leaf, torch.Tensor))


def _copy(tree: Any) -> Any:
    """A detached copy, so that an in-place call doesn't change what a later one gets."""
    return pytree.tree_map_only(torch.Tensor, lambda t: t.detach().clone(), tree)


def _attempt(call: Callable[[], Any]) -> Any:
    """A sample that PyTorch refuses (dtype, in-place shape) is no error of ours: it is simply not recorded."""
    try:
        return call()
    except Exception:
        return None


def _backward(result: Any) -> None:
    outputs = [
        t for t in pytree.tree_leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad and t.is_leaf is False
    ]
    if outputs:
        torch.autograd.backward(outputs, [torch.ones_like(t) for t in outputs])


def _run_sample(op: Any, sample: Any, differentiable: bool) -> None:
    arguments = (sample.input, sample.args, sample.kwargs)
    if not _strided_only(arguments):
        return
    result = _attempt(lambda: op(sample.input, *sample.args, **sample.kwargs))
    if result is None or not _strided_only(result):
        return
    if differentiable:
        _attempt(lambda: _backward(result))
    with torch.no_grad():
        input_, args, kwargs = _copy(arguments)
        if op.supports_out:
            out = _copy(result)
            _attempt(lambda: op(input_, *args, **kwargs, out=tuple(out) if isinstance(out, (tuple, list)) else out))
        for variant in (op.inplace_variant, op.inplace_operator_variant):
            if variant is not None:
                _attempt(lambda: variant(*_copy((input_, *args)), **kwargs))


def _run_aliases(op: Any, sample: Any) -> None:
    """Overloads of another name for the same operator: `absolute` for `abs`."""
    if not _strided_only((sample.input, sample.args, sample.kwargs)):
        return
    with torch.no_grad():
        for alias in op.aliases:
            for call in (alias.op, alias.inplace_variant):
                if call is not None:
                    input_, args, kwargs = _copy((sample.input, sample.args, sample.kwargs))
                    _attempt(lambda: call(input_, *args, **kwargs))


def _dtypes(op: Any) -> list[torch.dtype]:
    """float32 where the operator takes it, else complex64, else its first; then int64 and complex64 as well."""
    supported = set(op.supported_dtypes("cpu"))
    preferred = [d for d in (torch.float32, torch.complex64) if d in supported][:1]
    first = preferred or sorted(supported, key=str)[:1]
    return first + [d for d in (torch.int64, torch.complex64) if d in supported and d not in first]


def _run_op(op: Any, **sample_options: Any) -> None:
    for index, dtype in enumerate(_dtypes(op)):
        trainable = dtype.is_floating_point or dtype.is_complex
        differentiable = trainable and op.supports_autograd and index == 0
        samples = op.sample_inputs("cpu", dtype, requires_grad=differentiable, **sample_options)
        for sample in _picked(samples, SAMPLES_AN_OP if index == 0 else 2):
            _run_sample(op, sample, differentiable)
            _run_aliases(op, sample)


def _run_module(info: Any) -> None:
    """A module in training and in evaluation, with backward."""
    for training in (True, False):
        inputs = info.module_inputs_func(info, "cpu", torch.float32, requires_grad=True, training=training)
        for module_input in itertools.islice(inputs, 4):
            made, call = module_input.constructor_input, module_input.forward_input
            module = _attempt(lambda: info.module_cls(*made.args, **made.kwargs))
            if module is None or call is None:
                continue
            module.train(training)
            result = _attempt(lambda: module(*call.args, **call.kwargs))
            _attempt(lambda: _backward(result))


def _run_optimizer(info: Any) -> None:
    """Two steps of each implementation (single tensor, foreach, fused) with each of PyTorch's sample settings."""
    for settings in info.optim_inputs_func(device="cpu"):
        for implementation in ({"foreach": False}, {"foreach": True}, {"fused": True}):
            _attempt(lambda: _two_steps(info, {**settings.kwargs, **implementation}))


def _two_steps(info: Any, settings: dict[str, Any]) -> None:
    parameters = [torch.nn.Parameter(torch.rand(3, 4)), torch.nn.Parameter(torch.rand(4))]
    optimizer = info.optim_cls(parameters, **settings)
    for _ in range(2):
        for parameter in parameters:
            parameter.grad = torch.rand_like(parameter)
        optimizer.step(lambda: torch.tensor(1.0))


def units() -> list[Unit]:
    """The corpus in units small enough to be recorded, compacted and forgotten one at a time."""
    foreach = [
        *opinfos.foreach_unary_op_db,
        *opinfos.foreach_binary_op_db,
        *opinfos.foreach_pointwise_op_db,
        *opinfos.foreach_reduce_op_db,
        *opinfos.foreach_other_op_db,
    ]
    ops = [op for op in opinfos.op_db if not op.name.startswith(NOT_RECORDABLE)]
    made: list[Unit] = [(f"op {op.formatted_name}", lambda op=op: _run_op(op)) for op in ops]
    made += [(f"op {op.name}", lambda op=op: _run_op(op, num_input_tensors=[3])) for op in foreach]
    made += [(f"module {info.name}", lambda info=info: _run_module(info)) for info in module_db]
    made += [(f"optimizer {info.name}", lambda info=info: _run_optimizer(info)) for info in optim_db]
    return made
