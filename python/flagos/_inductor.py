"""torch.compile's default backend on flagos: the target's own code generation.

Note [Compiling as the target]
PyTorch's registration for a device (register_backend_for_device) chooses who generates kernels, and no more: whether a
reduction is split, a product padded, a graph captured, and which device Triton is told to compile for, inductor decides
by asking whether the device's name is "cpu" or is in a list of names (torch/_inductor/utils.py: GPU_TYPES, is_gpu). A
flagos graph so compiled would be another program than the target's, on CUDA none. Therefore each graph, as it leaves
AOTAutograd, is compiled as the same graph of the target's tensors (_retarget.py), and what comes of it is called with
the target's views of the flagos tensors. Everything above (Dynamo's guards, autograd, functionalization) sees flagos.

compile_fx takes the function that compiles such a graph as an argument; torch.compile passes none. So its default is
ours: the one private name of PyTorch that is replaced, checked for in `install`.
"""

from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

import torch
from torch.utils._python_dispatch import _disable_current_modes

REMEDY = 'Use torch.compile(model, backend="aot_eager") for flagos, or compile for the target without flagos.'


class TargetGraph:
    """A compiled graph that takes and gives flagos tensors.

    It has no `_fx_graph_cache_key`, so AOTAutograd's cache leaves it out: that would bring back what it wraps. The
    cache of inductor's own is keyed by the target's graph, and works.
    """

    def __init__(self, compiled: Callable[[list[Any]], Any], inputs: list[int], outputs: list[int]) -> None:
        self._compiled = compiled
        self._inputs = inputs  # indices of flagos tensors
        self._outputs = outputs
        self._boxed_call = True  # called with one list; in __dict__, which PyTorch's wrappers take over

    def __call__(self, inputs: list[Any]) -> list[Any]:
        views = torch.ops.flagos._to_target([inputs[index] for index in self._inputs])
        for index in reversed(self._inputs):
            inputs[index] = views.pop()  # the list alone holds them: the graph frees each when it is done with it
        results = list(self._compiled(inputs))
        views = torch.ops.flagos._from_target([results[index] for index in self._outputs])
        for index, view in zip(self._outputs, views):
            results[index] = view
        return results


def _compile_as_target(
    inner_compile: Callable[..., Any], graph: torch.fx.GraphModule, example_inputs: Sequence[Any], **settings: Any
) -> Any:
    """Stands in for torch._inductor.compile_fx.compile_fx_inner, which is `inner_compile`."""
    from flagos._retarget import Retargeter, mentions_flagos
    from flagos._tensors import is_flagos

    if not (mentions_flagos(graph) or any(map(is_flagos, example_inputs))):
        return inner_compile(graph, example_inputs, **settings)
    results = graph.graph.output_node().args[0]
    outputs = [
        index
        for index, result in enumerate(results)  # type: ignore[arg-type]
        if isinstance(result, torch.fx.Node) and is_flagos(result.meta.get("val"))
    ]
    inputs = [index for index, value in enumerate(example_inputs) if is_flagos(value)]
    with _disable_current_modes():  # as compile_fx_inner: the graph's constants are real
        retargeter = Retargeter()
        targets = [retargeter.value(value) for value in example_inputs]
        retargeter.graph(graph)
    return TargetGraph(inner_compile(graph, targets, **settings), inputs, outputs)


class Unsupported:
    """What torch.flagos gives inductor as its code generator: reached only past compile_fx, as AOTInductor goes."""

    supports_caching = False

    def __init__(self, *_: object, **__: object) -> None:
        raise RuntimeError(
            "flagos: this use of inductor (AOTInductor, packages of torch.export, or an inner_compile of one's own) "
            'generates code for the device itself, which flagos has none of. Use torch.compile, backend="aot_eager" if '
            "need be; for a package, export the model on the target's own device."
        )

    @classmethod
    def create(cls, *_: object, **__: object) -> Unsupported:  # what inductor calls of a wrapper's class
        return cls()


def install(compile_fx: ModuleType) -> None:
    """Makes `_compile_as_target` the default of compile_fx's `inner_compile`; `compile_fx` is the module."""
    original = getattr(compile_fx, "compile_fx", None)
    inner = getattr(compile_fx, "compile_fx_inner", None)
    parameters = inspect.signature(original).parameters if callable(original) else {}
    if (
        not callable(original)
        or not callable(inner)
        or "inner_compile" not in parameters
        or parameters["inner_compile"].default is not inner
    ):
        warnings.warn(
            f"flagos: torch {torch.__version__} has another torch._inductor.compile_fx than the one flagos knows; "
            f"torch.compile's default backend won't work on flagos tensors. {REMEDY}",
            stacklevel=2,
        )
        return
    as_target = functools.partial(_compile_as_target, inner)
    functools.update_wrapper(as_target, inner)

    @functools.wraps(original)
    def compile_fx_with_flagos(*arguments: Any, **keywords: Any) -> Any:
        if len(arguments) < 3:  # (model, example inputs, inner_compile, ...)
            keywords.setdefault("inner_compile", as_target)
        return original(*arguments, **keywords)

    setattr(compile_fx, "compile_fx", compile_fx_with_flagos)
