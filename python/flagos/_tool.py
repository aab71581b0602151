"""The program flagos-diag, where there is one."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from _flagos.files import PACKAGE, PROGRAM, chosen_library
from _flagos.launcher import variables

_NAME = "flagos-diag"


def _of_the_chosen_library() -> list[Path]:
    """Where the build that FLAGOS_LIBRARY is of has its flagos-diag; empty when it names no file."""
    try:
        chosen = chosen_library()
    except ImportError:  # for who loads the library to tell
        return []
    return [Path(chosen).parent.parent / "tool" / _NAME] if chosen is not None else []


def find_tool() -> str | None:
    """The path of flagos-diag: of FLAGOS_LIBRARY's build, in the package, in the source tree, beside this Python, or on
    PATH.

    One of another build would run another library, perhaps one for another torch.
    """
    own = (PROGRAM, PACKAGE.parents[1] / "build" / "tool" / _NAME, Path(sysconfig.get_path("scripts")) / _NAME)
    for tool in (*_of_the_chosen_library(), *own):
        if os.access(tool, os.X_OK):
            return str(tool)
    return shutil.which(_NAME)


def tool_environment(tool: str) -> dict[str, str]:
    """The environment to run `tool` in. Raises ImportError where the package's own has no torch to run with."""
    return {**os.environ, **(variables() if tool == str(PROGRAM) else {})}


def tool_version(tool: str) -> str:
    """What `tool` says of its version, such as "0.1.0". Raises RuntimeError with its words when it can't run."""
    done = subprocess.run([tool, "--version"], env=tool_environment(tool), capture_output=True, text=True, check=False)
    name, _, version = done.stdout.strip().partition(" ")
    if done.returncode != 0 or name != _NAME:
        raise RuntimeError(f"{tool} --version: {done.stderr.strip() or f'exit status {done.returncode}'}")
    return version


def results(*arguments: str) -> list[dict[str, Any]]:
    """The rows that flagos-diag gives for a command. Raises ValueError with its words when it can't do it."""
    tool = find_tool()
    if tool is None:
        raise RuntimeError(
            "flagos: flagos-diag was not found. Build it with ./start in the source tree and put build/tool on PATH."
        )
    command = [tool, "-q", "--format", "json", *arguments]
    done = subprocess.run(command, env=tool_environment(tool), capture_output=True, text=True, check=False)
    if not done.stdout:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise ValueError(f"flagos-diag {' '.join(arguments)}: {said}")
    rows: list[dict[str, Any]] = json.loads(done.stdout)["results"]
    return rows
