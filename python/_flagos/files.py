"""Where the library, the program and torch are, and whether they fit together. Nothing here imports torch."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import mmap
import os
import re
import sys
from pathlib import Path

LIBRARY = "libflagos.so"
PACKAGE = Path(__file__).resolve().parents[1] / "flagos"
PROGRAM = PACKAGE / "bin" / "flagos-diag"  # of a wheel; a source tree has none there
_TORCH_MARK = b"flagos-built-for-torch="  # in the library; see lib/kernel/c_api.cpp


def shown(text: str, limit: int = 300) -> str:
    """Foreign text as an error can show it."""
    printable = "".join(c if c.isprintable() else "?" for c in text[:limit])
    return printable + ("..." if len(text) > limit else "")


def chosen_library() -> str | None:
    """The path that FLAGOS_LIBRARY names; None when it is not set. Raises ImportError when there is no such file."""
    chosen = os.environ.get("FLAGOS_LIBRARY", "")
    if not chosen:
        return None
    if not os.path.isfile(chosen):
        raise ImportError(
            f"flagos: FLAGOS_LIBRARY={shown(chosen)} is not a file. Set it to the path of {LIBRARY}, or unset it."
        )
    return os.path.abspath(chosen)


def find_library() -> str:
    """The path of libflagos.so; the bare name, for the loader to look up, when it is in no place of its own."""
    chosen = chosen_library()
    if chosen is not None:
        return chosen
    for candidate in (PACKAGE / LIBRARY, PACKAGE.parents[1] / "build" / "lib" / LIBRARY):
        if candidate.is_file():
            return str(candidate)
    return LIBRARY


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


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


def refuse_other_torch(path: str, version: str) -> None:
    """Raises ImportError when the library in file `path` was built for another minor version than torch `version`.

    Loading it would run its code against other layouts.
    """
    built = built_for_torch(path)
    if built is None or _minor(built) == _minor(version):
        return
    raise ImportError(
        f"flagos: {path} was built for torch {built}, but this is torch {version}. Install torch "
        f"{_minor(built)} (pip install 'torch=={_minor(built)}.*'), or a flagos that was built for torch {version}."
    )


def find_torch() -> Path | None:
    """The folder of the package torch that this Python would import, if there is one."""
    try:
        spec = importlib.util.find_spec("torch")
    except ValueError:  # a module torch that somebody made by hand
        return None
    return Path(next(iter(spec.submodule_search_locations))) if spec and spec.submodule_search_locations else None


def torch_version(folder: Path) -> str:
    """The version of the torch in `folder`: as its version.py says, else as its metadata do; "unknown" if neither."""
    try:
        text = (folder / "version.py").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        text = ""
    found = re.search(r"^__version__\s*(?::[^=]*)?=\s*['\"]([^'\"]+)['\"]", text, re.MULTILINE)
    if found is not None:
        return found.group(1)
    try:
        return importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        return "unknown"


def usable_torch(library: str) -> Path:
    """The folder of a torch that `library` was built for. Raises ImportError, with cause and remedy, without one."""
    folder = find_torch()
    if folder is None:
        built = built_for_torch(library)
        wanted = f"torch=={_minor(built)}.*" if built else "torch"
        raise ImportError(f"flagos: {sys.executable} has no torch. Install it: pip install '{wanted}'")
    refuse_other_torch(library, torch_version(folder))
    for name in ("libc10.so", "libtorch_cpu.so"):
        if not (folder / "lib" / name).is_file():
            raise ImportError(
                f"flagos: the torch in {folder} has no lib/{name}. Install it again: "
                f"pip install --force-reinstall 'torch=={_minor(torch_version(folder))}.*'"
            )
    return folder


def torch_error() -> ImportError | None:
    """Why the library that the package would load can't be used with this Python's torch; None: it can, or is not there."""
    try:
        library = find_library()
    except ImportError:
        return None
    try:
        usable_torch(library)
    except ImportError as error:
        return error
    return None
