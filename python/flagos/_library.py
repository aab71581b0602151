"""Finds, loads and talks to libflagos.so."""

from __future__ import annotations

import ctypes
import functools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

from _flagos.files import LIBRARY, find_library, refuse_other_torch

# The library's C functions: the types of their arguments and of their result. A string to be freed is a void*.
_FUNCTIONS: dict[str, tuple[list[Any], Any]] = {
    "flagos_clear_routes": ([], ctypes.c_void_p),
    "flagos_free": ([ctypes.c_void_p], None),
    "flagos_kernel_kind": ([ctypes.c_char_p], ctypes.c_char_p),
    "flagos_load_error": ([], ctypes.c_char_p),
    "flagos_load_routes": ([ctypes.c_char_p], ctypes.c_void_p),
    "flagos_reason_help": ([ctypes.c_char_p], ctypes.c_char_p),
    "flagos_redispatch_enabled": ([], ctypes.c_int),
    "flagos_redispatch_guard_begin": ([ctypes.c_int], ctypes.c_void_p),
    "flagos_redispatch_guard_end": ([ctypes.c_void_p], None),
    "flagos_register_backend": ([ctypes.c_char_p, ctypes.c_char_p], ctypes.c_void_p),
    "flagos_reset_stats": ([], None),
    "flagos_routes_json": ([], ctypes.c_void_p),
    "flagos_set_redispatch": ([ctypes.c_int], None),
    "flagos_set_route": ([ctypes.c_char_p, ctypes.c_char_p], ctypes.c_void_p),
    "flagos_stats_json": ([ctypes.c_int], ctypes.c_void_p),
    "flagos_target_name": ([], ctypes.c_char_p),
    "flagos_version": ([], ctypes.c_char_p),
}


def disabled() -> bool:
    """Whether FLAGOS_DISABLE is set: to anything but "0"; an empty value counts as not set."""
    return os.environ.get("FLAGOS_DISABLE", "") not in ("", "0")


def loaded_path() -> str | None:
    """The path of a libflagos.so that this process has loaded, for instance because the program links it.

    Loading a second copy would register the device twice.
    """
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    for line in maps.splitlines():
        fields = line.split(maxsplit=5)
        if len(fields) == 6 and os.path.basename(fields[5]).startswith(LIBRARY):
            return fields[5]
    return None


def _load(path: str) -> ctypes.CDLL:
    try:
        torch.ops.load_library(path)  # type: ignore[no-untyped-call]
        return ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"flagos: cannot load {path}: {error}. Build it with ./start in the source tree, or set FLAGOS_LIBRARY to "
            f"its path. It must have been built for torch {torch.__version__}."
        ) from error


def _missing(name: str, path: str) -> Callable[..., NoReturn]:
    def fail(*_: object) -> NoReturn:
        raise RuntimeError(
            f"flagos: {path} has no {name}; it is older than this package. Build both from the same source, or set "
            "FLAGOS_LIBRARY."
        )

    return fail


def _declare(loaded: ctypes.CDLL, path: str) -> None:
    """Gives the library's C functions their types. One that it lacks says so when it is called."""
    for name, (arguments, result) in _FUNCTIONS.items():
        if hasattr(loaded, name):
            function = getattr(loaded, name)
            function.argtypes = arguments
            function.restype = result
        else:
            setattr(loaded, name, _missing(name, path))


@functools.cache
def library() -> ctypes.CDLL:
    """Loads libflagos.so, once. Raises ImportError with the library's own words when it could not register itself."""
    path = loaded_path() or find_library()
    refuse_other_torch(path, torch.__version__)
    loaded = _load(path)
    _declare(loaded, path)
    failure = loaded.flagos_load_error()
    if failure is not None:
        raise ImportError(failure.decode(errors="replace"))
    return loaded


@functools.cache
def target() -> str:
    """The target, whose kernels run for flagos tensors: "cpu" or "cuda". Chosen when the library is loaded."""
    name: bytes = library().flagos_target_name()
    return name.decode()
