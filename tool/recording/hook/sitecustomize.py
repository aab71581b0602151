"""`flagos-diag record` puts this folder first on PYTHONPATH, so that every Python it starts runs this file.

It leaves the program as it is: the module path loses this folder again, the sitecustomize that this one hides still
runs, and nothing else happens until the program imports torch. Then flagos_recorder.py begins.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

_HERE = os.path.dirname(os.path.abspath(__file__))


def _load(name: str, spec: importlib.machinery.ModuleSpec | None) -> ModuleType | None:
    if spec is None or spec.loader is None:
        return None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


class _WhenTorchIsImported:
    """A finder that wraps torch's own loader, once."""

    def __init__(self, then: Callable[[], Any]) -> None:
        self.then = then

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> Any:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            self.wrap(spec.loader)
        return spec

    def wrap(self, loader: Any) -> None:
        run = loader.exec_module

        def exec_module(module: ModuleType) -> None:
            del loader.exec_module
            run(module)
            self.then()

        loader.exec_module = exec_module


def _begin(folder: str) -> None:
    path = os.path.join(_HERE, "flagos_recorder.py")
    recorder = _load("flagos_recorder", importlib.util.spec_from_file_location("flagos_recorder", path))
    assert recorder is not None
    recorder.watch(folder)
    sys.meta_path.insert(0, _WhenTorchIsImported(recorder.begin))


sys.path[:] = [entry for entry in sys.path if os.path.abspath(entry or ".") != _HERE]
_load("sitecustomize", importlib.machinery.PathFinder.find_spec("sitecustomize"))
if os.environ.get("FLAGOS_RECORD_FOLDER"):
    _begin(os.environ["FLAGOS_RECORD_FOLDER"])
