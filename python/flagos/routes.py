"""Routes: a standing order for where one operator goes, as in a route file or FLAGOS_OP_<name>.

    flagos.routes.set_route("mm", "cpu")
    flagos.routes.use_flaggems()                       # registers the backend "flaggems"
    flagos.routes.set_route("softmax", "flaggems")
    flagos.routes.register_backend("mine", {"aten::add.Tensor": my_add})

Backends: "native" (no route), "dispatch" (boxed, never the fast path), "cpu" (by copies), and those that were registered.
Every error names what was wrong and the nearest valid name; nothing is changed then. A route to "cpu" or to a
registered backend changes the dispatcher's table: no other thread may call that operator meanwhile.
"""

from __future__ import annotations

import ctypes
import importlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from flagos._library import library, target

__all__ = ["Route", "clear_routes", "load_routes", "register_backend", "routes", "set_route", "use_flaggems"]

_made: dict[str, torch.library.Library] = {}  # by namespace: what a Library defined goes with it


@dataclass(frozen=True)
class Route:
    """One operator's route."""

    op: str  # "aten::add.Tensor"
    backend: str
    where: str  # who ordered it: "routes.conf:3", "FLAGOS_OP_add__Tensor", "set_route"
    waiting: bool  # for its backend to be registered; until then the operator is native


def _check(error: int | None) -> None:
    if error:
        try:
            raise RuntimeError(ctypes.string_at(error).decode(errors="replace"))
        finally:
            library().flagos_free(error)


def set_route(op: str, backend: str) -> None:
    """Sends `op`, one overload ("add.Tensor") or a bare name for all that can go there, to `backend`."""
    _check(library().flagos_set_route(op.encode(), backend.encode()))


def load_routes(file: str | os.PathLike[str]) -> None:
    """Sets the routes of a file (lines `op = backend`, `include FILE`), in addition to those there are."""
    _check(library().flagos_load_routes(os.fsencode(file)))


def clear_routes() -> None:
    """Undoes all routes, whoever set them."""
    _check(library().flagos_clear_routes())


def routes() -> list[Route]:
    """The routes there are, sorted by operator."""
    text = library().flagos_routes_json()
    if not text:
        raise MemoryError("flagos.routes: out of memory.")
    try:
        return [Route(**each) for each in json.loads(ctypes.string_at(text))]
    finally:
        library().flagos_free(text)


def _schema(op: str) -> torch.FunctionSchema:
    name, _, overload = op.removeprefix("aten::").partition(".")
    try:
        return torch._C._get_schema(f"aten::{name}", "" if overload == "default" else overload)
    except RuntimeError as error:
        raise ValueError(f'flagos: register_backend: no operator "{op}" (one overload: "add.Tensor", "mm").') from error


def register_backend(name: str, kernels: Mapping[str, Callable[..., Any]]) -> None:
    """Makes `name` a backend that routes can name: Python functions in the place of the target's kernels.

    `kernels` has one overload of an aten operator ("add.Tensor", "mm") to a function with that operator's arguments,
    which is called below autograd with the target's tensors, where flagos tensors were given, and returns the target's.
    They become operators of the namespace `flagos_<name>`. Routes that waited for the backend are carried out.

    Raises ValueError for an operator there is not, and RuntimeError when the name is taken or not of letters, digits, '_'
    and '-', or when a route that names one overload in full has waited and `kernels` lacks it.
    """
    namespace = "flagos_" + name.replace("-", "_")
    schemas = {op: _schema(op) for op in kernels}
    if namespace in _made:
        raise RuntimeError(f'flagos: register_backend: there is a backend "{name}" already. Choose another name.')
    made = torch.library.Library(namespace, "DEF")  # type: ignore[no-untyped-call]
    for op, kernel in kernels.items():
        definition = str(schemas[op]).removeprefix("aten::")
        made.define(definition)  # type: ignore[no-untyped-call]
        name_in_it = definition.partition("(")[0]
        made.impl(name_in_it, kernel, target().upper())  # type: ignore[no-untyped-call]
    try:
        _check(library().flagos_register_backend(name.encode(), namespace.encode()))
    except RuntimeError:
        made._destroy()  # type: ignore[no-untyped-call]
        raise
    _made[namespace] = made


def use_flaggems() -> None:
    """Registers FlagGems' Triton kernels (the package flag_gems, on the CUDA target) as the backend "flaggems".

    Only routed operators use them. For all of them, on CUDA tensors as well, call `flag_gems.enable()` instead.
    Raises ImportError where flag_gems is not installed, and RuntimeError on another target than CUDA.
    """
    if target() == "cpu":
        raise RuntimeError(
            "flagos: use_flaggems: FlagGems' kernels run on a GPU, but flagos tensors are on the CPU target. Set "
            "FLAGOS_TARGET=cuda on a machine with a CUDA device."
        )
    try:
        flag_gems = importlib.import_module("flag_gems")
    except ImportError as error:
        raise ImportError(f"flagos: use_flaggems: {error}. Install it: pip install flag_gems.") from error
    register_backend("flaggems", _collected(flag_gems))


class _Collector:
    """Stands in for the torch.library.Library that FlagGems registers into."""

    def __init__(self) -> None:
        self.kernels: dict[str, Callable[..., Any]] = {}

    def impl(self, op: str, kernel: Callable[..., Any], *_: Any, **__: Any) -> None:
        try:
            _schema(op)
        except ValueError:  # for another torch, or another namespace
            return
        self.kernels[op] = kernel


def _collected(flag_gems: Any) -> dict[str, Callable[..., Any]]:
    """The kernels that `flag_gems.enable()` would register here, with its own choice by vendor and version."""
    collector = _Collector()
    flag_gems.enable(lib=collector)
    return collector.kernels
