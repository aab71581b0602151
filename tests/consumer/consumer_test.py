"""Builds and runs a program against libflagos in the two ways the README gives. Prints TAP.

consumer_test.py BUILD_DIR SOURCE_DIR PYTHON: the build directory to install from, the source tree, and the Python whose
torch the library was built for. Needs meson, ninja, pkg-config and a C++ compiler; nothing is written outside a
temporary directory.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

PROGRAM = Path(__file__).resolve().parent / "main.cpp"
# A few operators are enough for the program, and build in a minute instead of many.
OPERATORS = ("add.Tensor", "copy_", "empty.memory_format", "empty_strided", "fill_.Scalar", "ones", "_to_copy")
LEFT_OUT = ("build", "build-*", ".venv", ".git", ".cache", "subprojects", "__pycache__")


def run(*command: str | Path, **environment: str) -> str:
    """Runs a command and returns its stdout; raises RuntimeError with all its output when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, command))}\nexit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def run_program(program: Path, **environment: str) -> None:
    printed = run(program, **environment).strip()
    if not printed.startswith("flagos"):
        raise RuntimeError(f"the program printed {printed!r}, not a flagos device")
    needed = run("readelf", "--dynamic", "--wide", program)
    if not any("NEEDED" in line and "libflagos.so" in line for line in needed.splitlines()):
        raise RuntimeError(f"the linker dropped libflagos:\n{needed}")


def installed_with_pkg_config(scratch: Path, build: Path, _source: Path, python: str) -> None:
    """Installs into a staging root and builds with one compiler call that pkg-config completes."""
    run(python, "-m", "mesonbuild.mesonmain", "install", "-C", build, "--no-rebuild", "--quiet", "--destdir", scratch)
    package = next(scratch.rglob("flagos.pc"))
    found = {"PKG_CONFIG_PATH": str(package.parent)}
    prefix = run("pkg-config", "--variable=prefix", "flagos", **found).strip()
    moved = f"--define-variable=prefix={scratch}{prefix}"
    flags = run("pkg-config", moved, "--cflags", "--libs", "flagos", **found).split()
    compiler = os.environ.get("CXX", "c++").split()
    program = scratch / "consumer"
    run(*compiler, "-std=c++20", PROGRAM, "-o", program, "-Wl,--as-needed", *flags)
    run_program(program, LD_LIBRARY_PATH=str(package.parents[1]))


def meson_subproject(scratch: Path, build: Path, source: Path, python: str) -> None:
    """Builds a Meson project that has this source tree under subprojects/."""
    shutil.copy(PROGRAM, scratch)
    shutil.copy(PROGRAM.parent / "subproject" / "meson.build", scratch)
    shutil.copytree(source, scratch / "subprojects" / "libflagos", ignore=shutil.ignore_patterns(*LEFT_OUT, build.name))
    options = [f"-Dlibflagos:op_filter={','.join(OPERATORS)}", f"-Dlibflagos:python={python}"]
    options += [f"-Dlibflagos:{part}=disabled" for part in ("tool", "tests", "perf")]
    nested = scratch / "build"
    meson = (python, "-m", "mesonbuild.mesonmain")
    run(*meson, "setup", nested, scratch, "--force-fallback-for=flagos", "--buildtype=debug", *options)
    run(*meson, "compile", "-C", nested, "consumer")
    run_program(nested / "consumer")


def main() -> int:
    build, source = (Path(argument).resolve() for argument in sys.argv[1:3])
    python = sys.argv[3]
    cases: list[Callable[[Path, Path, Path, str], None]] = [installed_with_pkg_config, meson_subproject]
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, case in enumerate(cases, start=1):
        try:
            with tempfile.TemporaryDirectory(prefix="flagos-consumer-") as scratch:
                case(Path(scratch), build, source, python)
            print(f"ok {number} - {case.__name__}", flush=True)
        except (RuntimeError, OSError, StopIteration) as error:
            failed += 1
            print(f"not ok {number} - {case.__name__}", flush=True)
            print("".join(f"# {line}\n" for line in (str(error) or repr(error)).splitlines()), end="", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
