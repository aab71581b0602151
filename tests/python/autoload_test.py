"""`import torch` alone makes the device known, says nothing, and is never broken by it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import flagos
from _flagos import files
from flagos import _library

# Prints what each statement raises, on a line of its own.
_TRY = """
import torch
def attempt(f):
    try:
        print("ok", f())
    except Exception as error:
        print(type(error).__name__, error)
"""


class AutoloadTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.add_entry_point("flagos", "flagos:_autoload")

    def add_entry_point(self, name: str, target: str, folder: str = ".") -> None:
        info = self.folder / folder / f"{name}-0.0.1.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.1\n", encoding="utf-8")
        (info / "entry_points.txt").write_text(f"[torch.backends]\n{name} = {target}\n", encoding="utf-8")

    def python(self, code: str, **environment: str) -> subprocess.CompletedProcess[str]:
        # torch loads backends in the order of the path: what is in later/ comes after flagos.
        folders = [self.folder, Path(flagos.__file__).parents[1], self.folder / "later"]
        path = os.pathsep.join(map(str, folders))
        return subprocess.run(
            [sys.executable, "-W", "error", "-c", code],
            env={**os.environ, "PYTHONPATH": path, **environment}, capture_output=True, text=True, check=False,
        )  # fmt: skip

    def test_is_silent(self) -> None:
        done = self.python("import torch; assert torch.ones(2, device='flagos').sum().item() == 2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_flagos_may_be_imported_first(self) -> None:
        done = self.python("import flagos, torch; assert torch.flagos.is_available()")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_switches(self) -> None:
        for switch in ({"FLAGOS_DISABLE": "1"}, {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}):
            done = self.python("import torch; print(hasattr(torch, 'flagos'))", **switch)
            self.assertEqual((done.stdout, done.stderr), ("False\n", ""), switch)

    def test_an_error_waits_for_the_first_use(self) -> None:
        code = _TRY + (
            "torch.manual_seed(1)\nattempt(lambda: torch.flagos.is_available())\n"
            "attempt(lambda: torch.ones(1, device='flagos'))\nattempt(lambda: torch.flagos.synchronize())\n"
            "attempt(lambda: __import__('flagos'))\n"
        )
        done = self.python(code, FLAGOS_LIBRARY="/nonexistent.so", CUDA_VISIBLE_DEVICES="")
        lines = done.stdout.splitlines()
        self.assertEqual((done.stderr, lines[0]), ("", "ok False"))
        for line in lines[1:3]:
            self.assertRegex(line, "^RuntimeError The device flagos is not available: .*/nonexistent.so is not a file")
        self.assertRegex(lines[3], "^ImportError flagos: FLAGOS_LIBRARY=/nonexistent.so")

    def test_an_error_leaves_the_name_to_another_backend(self) -> None:
        (self.folder / "other.py").write_text(
            "import torch\ndef load():\n    torch.utils.rename_privateuse1_backend('other')\n", encoding="utf-8"
        )
        self.add_entry_point("other", "other:load", "later")
        code = "import torch; print(torch.device('other'))"
        done = self.python(code, FLAGOS_LIBRARY="/nonexistent.so", CUDA_VISIBLE_DEVICES="")
        self.assertEqual((done.stdout, done.stderr), ("other\n", ""))

    def test_library_for_another_torch_is_refused(self) -> None:
        original = Path(_library.loaded_path() or "").read_bytes()
        built = files.built_for_torch(_library.loaded_path() or "") or ""
        mark = b"flagos-built-for-torch="
        self.assertEqual(original.count(mark + built.encode()), 1)
        other = self.folder / "libflagos.so"
        other.write_bytes(original.replace(mark + built.encode(), mark + b"0" + built.encode()[1:]))
        done = self.python(_TRY + "attempt(lambda: __import__('flagos'))", FLAGOS_LIBRARY=str(other))
        self.assertRegex(done.stdout, f"^ImportError .*built for torch 0{built[1:]}, but this is torch .*pip install")


if __name__ == "__main__":
    unittest.main()
