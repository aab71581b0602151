"""Finds, loads and talks to libflagos.so."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

_NAME = "libflagos.so"
_TORCH_MARK = b"flagos-built-for-torch="  # in the file; see lib/kernel/c_api.cpp

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
        if len(fields) == 6 and os.path.basename(fields[5]).startswith(_NAME):
            return fields[5]
    return None


def _shown(text: str, limit: int = 300) -> str:
    """Foreign text as an error can show it."""
    printable = "".join(c if c.isprintable() else "?" for c in text[:limit])
    return printable + ("..." if len(text) > limit else "")


def find_library() -> str:
    """The path of libflagos.so; the bare name, for the loader to look up, when it is in no place of its own."""
    chosen = os.environ.get("FLAGOS_LIBRARY", "")
    if chosen:
        if not os.path.isfile(chosen):
            raise ImportError(
                f"flagos: FLAGOS_LIBRARY={_shown(chosen)} is not a file. Set it to the path of {_NAME}, or unset it."
            )
        return os.path.abspath(chosen)
    package = Path(__file__).resolve().parent
    for candidate in (package / _NAME, package.parents[1] / "build" / "lib" / _NAME):
        if candidate.is_file():
            return str(candidate)
    return _NAME


def built_for_torch(path: str) -> str | None:
    """The torch version that the library in file `path` was built for; None when the file does not tell."""
    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            start = content.find(_TORCH_MARK)
            if start < 0:
                return None
            start += len(_TORCH_MARK)
            return content[start : content.find(b"\0", start)].decode(errors="replace")
    except (OSError, ValueError):  # a bare name; an empty file
        return None


def _check_torch(path: str) -> None:
    """Refuses a library for another minor version of torch: loading it would run its code against other layouts."""
    built = built_for_torch(path)
    if built is None:
        return
    minor = ".".join(built.split(".")[:2])
    if minor != ".".join(torch.__version__.split(".")[:2]):
        raise ImportError(
            f"flagos: {path} was built for torch {built}, but this is torch {torch.__version__}. Install torch "
            f"{minor} (pip install 'torch=={minor}.*'), or a flagos that was built for torch {torch.__version__}."
        )


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
    _check_torch(path)
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
