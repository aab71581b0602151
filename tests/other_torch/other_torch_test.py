"""A process whose torch says that it is another minor version than libflagos was built for.

other_torch_test.py PRELOAD: the library that makes torch say so. What two real releases do is in tests/versions.
"""

from __future__ import annotations

import os
import subprocess
import sys
import unittest

_PRELOAD = sys.argv[1]
_REGISTER = (
    "import torch\n"
    "try:\n"
    "    import flagos\n"
    "except ImportError as error:\n"
    "    print('ImportError', error)\n"
    "print(torch._C._get_privateuse1_backend_name(), torch.ones(1).add(1).item())\n"
)


class OtherTorch(unittest.TestCase):
    def python(self, **environment: str) -> subprocess.CompletedProcess[str]:
        settings = {**os.environ, "FLAGOS_TARGET": "cpu", **environment}
        return subprocess.run(
            [sys.executable, "-c", _REGISTER], env=settings, capture_output=True, text=True, check=False
        )

    def test_this_torch_is_accepted(self) -> None:
        done = self.python()
        self.assertEqual((done.returncode, done.stdout), (0, "flagos 2.0\n"), done.stderr)

    def test_another_is_refused_with_cause_and_remedy_and_nothing_is_registered(self) -> None:
        done = self.python(LD_PRELOAD=_PRELOAD)
        self.assertEqual(done.returncode, 0, done.stderr)
        refusal, state = done.stdout.splitlines()
        self.assertRegex(refusal, r"^ImportError flagos: libflagos was built for torch 2\.\d+\.\d+.*, but this process")
        self.assertIn("runs torch 2.1. Build it again for torch 2.1, or run the program with torch 2.", refusal)
        self.assertEqual(state, "privateuseone 2.0")

    def test_switched_off_it_does_not_matter(self) -> None:
        done = self.python(LD_PRELOAD=_PRELOAD, FLAGOS_DISABLE="1")
        self.assertEqual((done.returncode, done.stdout), (0, "privateuseone 2.0\n"), done.stderr)


if __name__ == "__main__":
    unittest.main()
