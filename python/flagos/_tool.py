"""The program flagos-diag, where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

_NAME = "flagos-diag"


def find_tool() -> str | None:
    """The path of flagos-diag: beside the package, in the source tree, beside this Python, or on PATH."""
    package = Path(__file__).resolve().parent
    for folder in (package, package.parents[1] / "build" / "tool", Path(sysconfig.get_path("scripts"))):
        if os.access(folder / _NAME, os.X_OK):
            return str(folder / _NAME)
    return shutil.which(_NAME)


def results(*arguments: str) -> list[dict[str, Any]]:
    """The rows that flagos-diag gives for a command. Raises ValueError with its words when it can't do it."""
    tool = find_tool()
    if tool is None:
        raise RuntimeError(
            "flagos: flagos-diag was not found. Build it with ./start in the source tree and put build/tool on PATH."
        )
    done = subprocess.run([tool, "-q", "--format", "json", *arguments], capture_output=True, text=True, check=False)
    if not done.stdout:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise ValueError(f"flagos-diag {' '.join(arguments)}: {said}")
    rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return rows
