"""What stands in for `torch.flagos` when the package could not register the device while torch was being imported."""

from __future__ import annotations

from types import ModuleType
from typing import Any, NoReturn


class Unavailable(ModuleType):
    """Raises the reason when it is used; answers what PyTorch asks of every device module for other devices' sake."""

    def __init__(self, name: str, reason: Exception) -> None:
        super().__init__(name, "The device flagos, which could not be registered.")
        self._reason = reason

    def _fail(self) -> NoReturn:
        raise RuntimeError(f"The device flagos is not available: {self._reason}") from self._reason

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # asked of any module, by inspect or warnings
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return self._fail()

    def _lazy_init(self) -> NoReturn:
        """Called by PyTorch before it makes the first tensor on the device."""
        self._fail()

    def is_available(self) -> bool:
        return False

    def is_initialized(self) -> bool:
        return False

    def device_count(self) -> int:
        return 0

    def _is_in_bad_fork(self) -> bool:
        """True keeps torch.manual_seed from seeding this device."""
        return True

    def manual_seed_all(self, seed: int) -> None:
        """Asked for by torch.manual_seed, not called."""
