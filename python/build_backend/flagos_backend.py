"""The build backend: meson-python's, whose wheel is then given the tag that it has earned.

meson-python takes whatever is platform-dependent in a package for an extension module, and names the Python that built
it in the tag. Neither libflagos.so nor flagos-diag knows of Python: one wheel serves all versions of it.
"""

from __future__ import annotations

import base64
import hashlib
import os
import zipfile
from pathlib import Path
from typing import Any

import mesonpy
from mesonpy import (  # the hooks of PEP 517 and PEP 660  # noqa: F401
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
)

_PYTHON, _ABI = "py3", "none"


def _record_line(name: str, content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
    return f"{name},sha256={digest},{len(content)}"


def _retagged(path: Path) -> str:
    """Replaces the wheel `path` by one for any Python 3 and the same platform; returns its file name."""
    name, version, _, _, platform = path.stem.split("-")
    tag = f"{_PYTHON}-{_ABI}-{platform}"
    made = path.with_name(f"{name}-{version}-{tag}.whl")
    unfinished = made.with_suffix(".part")
    info = f"{name}-{version}.dist-info"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as new:
        facts = [line for line in old.read(f"{info}/WHEEL").decode().splitlines() if not line.startswith("Tag:")]
        facts_file = "\n".join([*facts, f"Tag: {tag}", ""]).encode()
        lines = old.read(f"{info}/RECORD").decode().splitlines()
        kept = [line for line in lines if not line.startswith(f"{info}/WHEEL,")]
        record = "\n".join([_record_line(f"{info}/WHEEL", facts_file), *kept, ""]).encode()
        for entry in old.infolist():  # which has each file's mode
            content = {f"{info}/WHEEL": facts_file, f"{info}/RECORD": record}.get(entry.filename)
            new.writestr(entry, old.read(entry) if content is None else content, zipfile.ZIP_DEFLATED)
    path.unlink()
    os.replace(unfinished, made)
    return made.name


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """PEP 517's hook: builds the wheel in `wheel_directory` and returns its file name."""
    made = mesonpy.build_wheel(wheel_directory, config_settings, metadata_directory)
    return _retagged(Path(wheel_directory) / made)
