"""The console script flagos-diag: becomes the program in the package, and tells it where torch and this Python are."""

from __future__ import annotations

import os
import sys

from _flagos.files import LIBRARY, PACKAGE, PROGRAM, usable_torch


def variables() -> dict[str, str]:
    """What the program in the package is to find in its environment; see tool/packaged/main.cpp.

    Raises ImportError, with cause and remedy, when this Python has no torch that the program can run with.
    """
    return {
        "FLAGOS_DIAG_TORCH": str(usable_torch(str(PACKAGE / LIBRARY)) / "lib"),
        # What the user chose, if so: the Python that runs python_mode.py and the page of `report`.
        "FLAGOS_DIAG_PYTHON": os.environ.get("FLAGOS_DIAG_PYTHON") or sys.executable,
    }


def main() -> int:
    """Does not return where the program can be run; the exit status 2 where it can't."""
    try:
        if not os.access(PROGRAM, os.X_OK):
            raise ImportError(
                f"flagos: {PROGRAM} is missing or can't be run. Install the wheel again: "
                "pip install --force-reinstall --no-deps flagos"
            )
        os.execve(PROGRAM, [str(PROGRAM), *sys.argv[1:]], {**os.environ, **variables()})
    except (ImportError, OSError) as error:
        print(f"flagos-diag: {str(error).removeprefix('flagos: ')}", file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
