"""python -m flagos, and the example."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import flagos

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_char.py"


def python(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


class DoctorTest(unittest.TestCase):
    def test_in_order(self) -> None:
        done = python("-m", "flagos", "doctor")
        for check in ("library", "device", "computing"):
            self.assertRegex(done.stdout, rf"(?m)^ok +{check}", done.stderr)

    def test_broken_installation_is_told_not_raised(self) -> None:
        done = python("-m", "flagos", "doctor", FLAGOS_LIBRARY="/nonexistent.so")
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertRegex(done.stdout, r"FAIL +library +flagos: FLAGOS_LIBRARY=/nonexistent.so is not a file")
        self.assertNotIn("Traceback", done.stderr)


class ChosenBuildTest(unittest.TestCase):
    """FLAGOS_LIBRARY is of another build, which has a flagos-diag of its own."""

    def build(self, program: str) -> str:
        """A build of this library and a flagos-diag that is the shell script `program`; returns the library's path."""
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        folder = Path(temporary.name)
        for name in ("lib", "tool"):
            (folder / name).mkdir()
        library = folder / "lib" / "libflagos.so"
        library.symlink_to(Path(os.environ["FLAGOS_LIBRARY"]).resolve())
        tool = folder / "tool" / "flagos-diag"
        tool.write_text(f"#!/bin/sh\n{program}\n", encoding="utf-8")
        tool.chmod(0o755)
        return str(library)

    def test_its_tool_is_run(self) -> None:
        done = python("-m", "flagos", "stats", FLAGOS_LIBRARY=self.build('echo "of this build: $1"'))
        self.assertEqual(done.stdout, "of this build: stats\n", done.stderr)

    def test_doctor_fails_where_the_tool_does_not_come_to_an_end(self) -> None:
        for end in ("exit 127", "kill -KILL $$"):
            library = self.build(f'[ "$1" = --version ] && echo "flagos-diag $VERSION" || {end}')
            with self.subTest(end):
                done = python("-m", "flagos", "doctor", FLAGOS_LIBRARY=library, FLAGOS_TARGET="cpu",
                              VERSION=flagos.__version__)  # fmt: skip
                self.assertRegex(done.stdout, r"(?m)^ok +tool", done.stderr)
                self.assertEqual(done.returncode, 2, done.stdout + done.stderr)


class DlcloseTest(unittest.TestCase):
    def test_the_library_stays(self) -> None:
        run = """
import _ctypes, ctypes, os, torch
library = ctypes.CDLL(os.environ["FLAGOS_LIBRARY"])
_ctypes.dlclose(library._handle)
x = torch.ops.aten.empty.memory_format([2], device="flagos")
assert torch.ops.aten.fill_.Scalar(x, 3).add(1).cpu().tolist() == [4, 4]
"""
        done = python("-c", run, FLAGOS_TARGET="cpu", TORCH_DEVICE_BACKEND_AUTOLOAD="0")
        self.assertEqual(done.returncode, 0, done.stderr)


class ExampleTest(unittest.TestCase):
    def test_losses_are_the_targets(self) -> None:
        run = "import sys, runpy, flagos; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
        losses = []
        for device in ("cpu", "flagos"):
            # On a busy machine OpenMP's threads would otherwise spend the time waiting for each other.
            done = python("-c", run, str(EXAMPLE), "--device", device, "--steps", "11", "--batch", "4",
                          FLAGOS_TARGET="cpu", OMP_WAIT_POLICY="passive")  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            losses.append(done.stdout.splitlines()[:-1])
        self.assertEqual(len(losses[0]), 2)
        self.assertEqual(*losses)


if __name__ == "__main__":
    unittest.main()
