"""Prints what meson.build needs to know of PyTorch, one `key=value` a line.

find_torch.py [LIBTORCH_DIR]: looks at the torch of this Python, or at a libtorch directory (with include/ and lib/).
Exits with 1 and a message of cause and remedy where there is none that can be used.
"""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

OLDEST = (2, 10)


def locate(arguments: list[str]) -> Path:
    """The directory that holds include/ and lib/."""
    if arguments and arguments[0]:
        return Path(arguments[0]).expanduser().resolve()
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(
            f"{sys.executable} has no torch. Install it (pip install torch), or name another Python with -Dpython=PATH "
            "or a libtorch directory with -Dlibtorch=DIR."
        )
    return Path(spec.submodule_search_locations[0])


def version_of(root: Path) -> str:
    """Version text, from the header: importing torch would take a second."""
    header = root / "include" / "torch" / "headeronly" / "version.h"
    if not header.is_file():
        header = root / "include" / "torch" / "csrc" / "api" / "include" / "torch" / "version.h"
    if not header.is_file():
        raise SystemExit(f"{root} is no libtorch: it has no include/torch/headeronly/version.h. Check -Dlibtorch=DIR.")
    found = re.search(r'#define TORCH_VERSION\s[\s\\]*"([0-9][^"]*)"', header.read_text(encoding="utf-8"))
    if found is None:
        raise SystemExit(f"{header} names no TORCH_VERSION.")
    return found.group(1).strip()


def uses_new_abi(library: Path) -> bool:
    """Whether libc10 was built with GCC's C++11 ABI: its std::string symbols say so."""
    return b"__cxx1112basic_string" in library.read_bytes()


def main() -> int:
    """Prints the facts."""
    root = locate(sys.argv[1:])
    version = version_of(root)
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if numbers < OLDEST:
        raise SystemExit(f"torch {version} in {root} is too old; libflagos needs {OLDEST[0]}.{OLDEST[1]} or newer.")
    for name in ("libc10.so", "libtorch_cpu.so"):
        if not (root / "lib" / name).is_file():
            raise SystemExit(f"{root / 'lib'} has no {name}; the torch there is incomplete. Install it again.")
    if not uses_new_abi(root / "lib" / "libc10.so"):
        raise SystemExit(
            f"torch {version} in {root} was built with GCC's pre-C++11 ABI, which can't be linked with this code. Use "
            "a torch wheel of version 2.7 or newer, or the libtorch archive called cxx11-abi."
        )
    print(f"root={root}")
    print(f"version={version}")
    print(f"cuda={'yes' if (root / 'lib' / 'libtorch_cuda.so').is_file() else 'no'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
