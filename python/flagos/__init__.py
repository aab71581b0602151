"""The PyTorch device "flagos": `import flagos`, then use `device="flagos"`.

Importing the package loads libflagos.so, which registers the device and its kernels, and registers `torch.flagos`.
With FLAGOS_DISABLE set the package does nothing: no library is loaded and no device is registered.
"""

from __future__ import annotations


def _autoload() -> None:
    """Entry point of the group `torch.backends`: importing this package is all that it takes.

    Defined before anything imports torch: `import flagos` may be what imports torch, and torch then looks this up.
    """


from flagos._library import disabled, redispatch_enabled, set_redispatch_enabled, target  # noqa: E402
from flagos._registration import register  # noqa: E402

__version__ = "0.1.0"
__all__ = ["disabled", "redispatch_enabled", "set_redispatch_enabled", "target"]

if not disabled():
    register()
