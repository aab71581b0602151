"""Finds, loads and talks to libflagos.so."""

from __future__ import annotations

import ctypes
import functools
import os
from pathlib import Path

import torch

_NAME = "libflagos.so"


def disabled() -> bool:
    """Whether FLAGOS_DISABLE is set: to anything but "0"; an empty value counts as not set."""
    return os.environ.get("FLAGOS_DISABLE", "") not in ("", "0")


def _already_loaded() -> str | None:
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


def find_library() -> str:
    """The path of libflagos.so; the bare name, for the loader to look up, when it is in no place of its own."""
    chosen = os.environ.get("FLAGOS_LIBRARY", "")
    if chosen:
        if not os.path.isfile(chosen):
            raise ImportError(
                f"flagos: FLAGOS_LIBRARY={chosen} is not a file. Set it to the path of {_NAME}, or unset it."
            )
        return os.path.abspath(chosen)
    package = Path(__file__).resolve().parent
    for candidate in (package / _NAME, package.parents[1] / "build" / "lib" / _NAME):
        if candidate.is_file():
            return str(candidate)
    return _NAME


def _declare(loaded: ctypes.CDLL) -> None:
    """Gives the library's C functions their types. Raises AttributeError when it has not all of them."""
    loaded.flagos_load_error.restype = ctypes.c_char_p
    loaded.flagos_target_name.restype = ctypes.c_char_p
    loaded.flagos_set_redispatch.argtypes = [ctypes.c_int]
    loaded.flagos_set_redispatch.restype = None
    loaded.flagos_redispatch_enabled.restype = ctypes.c_int


@functools.cache
def library() -> ctypes.CDLL:
    """Loads libflagos.so, once. Raises ImportError with the library's own words when it could not register itself."""
    path = _already_loaded() or find_library()
    try:
        torch.ops.load_library(path)
        loaded = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"flagos: cannot load {path}: {error}. Build it with ./start in the source tree, or set FLAGOS_LIBRARY to "
            f"its path. It must have been built for torch {torch.__version__}."
        ) from error
    try:
        _declare(loaded)
    except AttributeError as error:
        raise ImportError(
            f"flagos: {path} does not fit this package ({error}). Build both from the same source, or set "
            "FLAGOS_LIBRARY."
        ) from error
    failure = loaded.flagos_load_error()
    if failure is not None:
        raise ImportError(failure.decode(errors="replace"))
    return loaded


@functools.cache
def target() -> str:
    """The target, whose kernels run for flagos tensors: "cpu" or "cuda". Chosen when the library is loaded."""
    return library().flagos_target_name().decode()


def redispatch_enabled() -> bool:
    """Whether the calling thread takes the redispatch fast path where it may."""
    return bool(library().flagos_redispatch_enabled())


def set_redispatch_enabled(enabled: bool) -> None:
    """The process-wide kill switch of the redispatch fast path. Off changes no result, only the way to the kernel."""
    library().flagos_set_redispatch(int(enabled))
