"""Values of FLAGOS_* variables that nobody would set on purpose, with `import torch` and `import flagos`."""
from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import flagos

# The value is set within the process: exec takes no variable of more than 128 KiB.
_TRY = """
import os, sys
name, value = sys.argv[1:3]
os.environb[name.encode()] = {"LONG": b"x" * (1 << 20), "BYTES": b"cp\\xff", "LINES": b"cpu\\ncuda"}[value]
import torch
for attempt in (lambda: torch.ones(1, device="flagos"), lambda: __import__("flagos")):
    try:
        attempt()
        print("ok")
    except Exception as error:
        print(type(error).__name__, ascii(str(error)))
"""
_NAMES = {"FLAGOS_TARGET": "auto, cpu, cuda", "FLAGOS_FALLBACK": "error, warn, allow", "FLAGOS_LIBRARY": "libflagos.so",
          "FLAGOS_BACKEND_CONFIG": "route file", "FLAGOS_OP_mm": "no backend"}


class HostileVariables(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        info = Path(folder.name) / "flagos-0.0.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: flagos\nVersion: 0.0.1\n", encoding="utf-8")
        (info / "entry_points.txt").write_text("[torch.backends]\nflagos = flagos:_autoload\n", encoding="utf-8")
        self.path = os.pathsep.join([folder.name, str(Path(flagos.__file__).parents[1])])

    def attempt(self, name: str, value: str) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": self.path, "CUDA_VISIBLE_DEVICES": ""}
        return subprocess.run([sys.executable, "-c", _TRY, name, value], env=env, capture_output=True, text=True,
                              timeout=120, check=False)

    def test_torch_lives_and_the_error_is_not_lost(self) -> None:
        kinds = ["LONG", "BYTES", "LINES"]
        for place, (name, allowed) in enumerate(_NAMES.items()):
            for value in kinds if os.environ.get("FLAGOS_TEST_LONG") else [kinds[place % len(kinds)]]:
                with self.subTest(name=name, value=value):
                    done = self.attempt(name, value)
                    self.assertEqual(done.returncode, 0, done.stderr[-2000:])
                    self.assertLess(len(done.stderr), 2000)
                    lines = done.stdout.splitlines()
                    self.assertEqual(len(lines), 2, done.stdout[:2000])
                    for line, kind in zip(lines, ("RuntimeError", "ImportError")):
                        self.assertTrue(line.startswith(kind), line[:2000])
                        self.assertLess(len(line), 1500)
                        self.assertIn(name, line)
                        self.assertIn(allowed, line)
                        self.assertNotIn("\\n", line)

    def test_switches(self) -> None:
        self.assertRegex(self.attempt("FLAGOS_NO_REDISPATCH", "LONG").stdout, "^ok\nok\n$")
        self.assertRegex(self.attempt("FLAGOS_DISABLE", "BYTES").stdout, "^RuntimeError .*\nok\n$")


if __name__ == "__main__":
    unittest.main()
