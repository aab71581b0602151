"""`python -m flagos doctor`: is this installation of the package in order?"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from importlib.metadata import entry_points

import torch

import flagos
from _flagos.files import built_for_torch, find_library
from flagos._library import disabled, library, loaded_path
from flagos._tool import find_tool, tool_environment, tool_version

# What a check found, and what to do about it: "" when it is in order.
Finding = tuple[str, str]


def _library_file() -> Finding:
    path = loaded_path() or find_library()
    built = built_for_torch(path)
    return f"{path}, built for torch {built or 'of a version it does not tell'}; this is torch {torch.__version__}", ""


def _registration() -> Finding:
    if disabled():
        return "FLAGOS_DISABLE is set: no device is registered", "Unset FLAGOS_DISABLE."
    if flagos._error is not None:
        raise flagos._error
    library()
    return f"torch.flagos, whose target is {flagos.target()}", ""


def _computing() -> Finding:
    computed = (torch.ones(8, device="flagos") + 1).sum().item()
    return f"8 * (1 + 1) = {computed:g}", "" if computed == 16 else "Check the device and its driver."


def _autoload() -> Finding:
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "1":
        return "TORCH_DEVICE_BACKEND_AUTOLOAD is off: `import flagos` is needed", ""
    names = [entry.name for entry in entry_points(group="torch.backends")]
    if "flagos" not in names:
        return "the package is not installed: `import flagos` is needed", ""
    others = ", ".join(name for name in names if name != "flagos")
    return "`import torch` registers the device", others and f"PyTorch takes one such backend; uninstall {others}."


def _tool() -> Finding:
    tool = find_tool()
    if tool is None:
        return "flagos-diag was not found; it checks the rest of the installation", ""
    version = tool_version(tool)
    fits = version == flagos.__version__
    return f"{tool}, {version}", "" if fits else f"This package is {flagos.__version__}: install the tool of the same."


_CHECKS: dict[str, Callable[[], Finding]] = {
    "library": _library_file,
    "device": _registration,
    "computing": _computing,
    "autoload": _autoload,
    "tool": _tool,
}


def doctor(arguments: list[str]) -> int:
    """Prints what the checks find, then what flagos-diag does where there is one. Returns the exit status: 0 or 2."""
    status = 0
    for name, check in _CHECKS.items():
        try:
            found, remedy = check()
        except Exception as error:  # of any kind: a broken installation is what this is for
            found, remedy = str(error), "Put right what the text names."
        print(f"{'FAIL' if remedy else 'ok':5}{name:10} {found}{'. ' if remedy else ''}{remedy}", flush=True)
        status = 2 if remedy else status
    tool = find_tool()
    if tool is None:
        return status
    print(f"\n{tool} doctor:", flush=True)
    done = subprocess.run([tool, "doctor", *arguments], env=tool_environment(tool), check=False)
    return 2 if done.returncode not in (0, 1, 2) else max(status, done.returncode)  # it crashed, or could not start
