"""Runs a function once a module has been imported, so that `import flagos` need not import it.

torch._dynamo and torch._inductor take seconds to import and are imported by PyTorch when torch.compile first needs
them; they have no registry that could be filled before that.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType

Action = Callable[[ModuleType], None]


class _ThenRun(importlib.abc.Loader):
    """Loads as `loader` does, then runs the action."""

    def __init__(self, loader: importlib.abc.Loader, action: Action) -> None:
        self._loader = loader
        self._action = action

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        # What others ask of a module's loader (its source, its resources) is the real loader's to answer.
        module.__loader__ = self._loader
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        self._loader.exec_module(module)
        self._action(module)


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self) -> None:
        self._actions: dict[str, Action] = {}

    def add(self, name: str, action: Action) -> None:
        self._actions[name] = action

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        action = self._actions.pop(name, None)  # popped first: find_spec below comes back here
        if action is None:
            return None
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            spec.loader = _ThenRun(spec.loader, action)
        return spec


_finder = _Finder()


def after_import(name: str, action: Action) -> None:
    """Calls `action` with module `name`: now when it has been imported, else at the end of its import."""
    module = sys.modules.get(name)
    if module is not None:
        action(module)
        return
    _finder.add(name, action)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
