"""The PyTorch device "flagos": `import flagos`, then use `device="flagos"`.

Importing the package loads libflagos.so, which registers the device and its kernels, and registers `torch.flagos`.
Where the package is installed `import torch` does it. With FLAGOS_DISABLE set the package does nothing: no library is
loaded and no device is registered.
"""

from __future__ import annotations

import sys as _sys

from _flagos.files import torch_error as _find_torch_error

# `import torch` is running and imports this package, or `python -m flagos` is. Neither is to fail because of it.
_torch = _sys.modules.get("torch")
_imported_by_torch = _torch is not None and bool(getattr(_torch.__spec__, "_initializing", False))
_run_as_program = _sys.orig_argv[1:3] == ["-m", "flagos"]


def _autoload() -> None:
    """Entry point of the group `torch.backends`: importing this package is all that it takes.

    Defined before anything imports torch: `import flagos` may be what imports torch, and torch then looks this up.
    """
    if _error is not None:
        _sys.modules.pop(__name__, None)  # an `import flagos` of the user's then tries again, and says what is wrong


_error: Exception | None = None
# A torch that the library was not built for may lack what is imported below; `python -m flagos doctor` says so.
_torch_error = _find_torch_error() if _run_as_program else None

if _torch_error is None:
    from flagos import routes
    from flagos._explain import Verdict, explain
    from flagos._library import disabled, target
    from flagos._redispatch import redispatch, redispatch_enabled, set_redispatch_enabled
    from flagos._registration import defer, register
    from flagos._stats import OpCounts, reset_stats, stats

__version__ = "0.1.0"
__all__ = [
    "OpCounts",
    "Verdict",
    "disabled",
    "explain",
    "redispatch",
    "redispatch_enabled",
    "reset_stats",
    "routes",
    "set_redispatch_enabled",
    "stats",
    "target",
]

if _torch_error is None and not disabled():
    try:
        register()
    except Exception as error:
        if not (_imported_by_torch or _run_as_program):
            raise
        _error = error
        defer(error)
