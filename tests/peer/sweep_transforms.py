"""How the sweep calls an OpInfo entry under the transforms of torch.func. Each takes (op, sample, device)."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch.utils._pytree import tree_flatten, tree_unflatten

from sweep_calls import arguments_on
from sweep_copies import noise, tensors
from sweep_observed import observe


def _of_tensors(op: Any, sample: Any, device: str, grad: bool) -> tuple[Callable, list[torch.Tensor]]:
    """The call as a function of its tensors, of those that require grad where `grad`; and these tensors."""
    leaves, spec = tree_flatten(arguments_on(op, sample, device, grad))
    places = [i for i, leaf in enumerate(leaves)
              if isinstance(leaf, torch.Tensor) and (leaf.requires_grad or not grad)]

    def function(*given: torch.Tensor) -> tuple[torch.Tensor, ...]:
        filled = [leaf.detach() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
        for place, tensor in zip(places, given):
            filled[place] = tensor
        value, args, kwargs = tree_unflatten(filled, spec)
        results = op(value, *args, **kwargs)
        found = tensors(sample.output_process_fn_grad(results) if grad else results)
        return tuple(t for t in found if not grad or t.is_floating_point() or t.is_complex())

    return function, [leaves[place].detach() for place in places]


def vmap(op: Any, sample: Any, device: str) -> dict[str, Any]:
    """Over two of each tensor."""
    function, given = _of_tensors(op, sample, device, grad=False)
    batches = [torch.stack([t, t]) for t in given]
    return {"result": observe(torch.vmap(function, randomness="different")(*batches), device)}


def vjp(op: Any, sample: Any, device: str) -> dict[str, Any]:
    function, given = _of_tensors(op, sample, device, grad=True)
    results, pull = torch.func.vjp(function, *given)
    made = pull(tuple(noise(t, device, i) for i, t in enumerate(results)))
    return {"result": observe(results, device), "gradient": observe(made, device)}


def jvp(op: Any, sample: Any, device: str) -> dict[str, Any]:
    function, given = _of_tensors(op, sample, device, grad=True)
    results, tangents = torch.func.jvp(function, tuple(given), tuple(noise(t, device, i) for i, t in enumerate(given)))
    return {"result": observe(results, device), "tangent": observe(tangents, device)}


def functionalize(op: Any, sample: Any, device: str) -> dict[str, Any]:
    function, given = _of_tensors(op, sample, device, grad=False)
    return {"result": observe(torch.func.functionalize(function)(*given), device)}
