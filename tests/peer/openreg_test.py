"""openreg_run.py tells passed, failed, open, explained and crashed apart.

FLAGOS_PYTORCH=CHECKOUT runs PyTorch's own files too.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import openreg_run

FILE = '''
import os, unittest, torch
import torch_openreg  # noqa: F401

class TestMade(unittest.TestCase):
    def test_a_works(self):
        self.assertTrue(torch.ones(2, device="openreg").is_openreg)
        self.assertEqual(torch.openreg.device_count(), torch.accelerator.device_count())
    def test_b_fails(self):
        self.fail("for all to see")
    def test_c_second_device(self):
        torch.ones(2, device="openreg:97" if torch.openreg.device_count() > 1 else "openreg:1")
    @unittest.skip("on purpose")
    def test_d_skips(self):
        pass
    def test_e_crashes(self):
        os._exit(7)
'''


class RunTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.checkout = Path(folder.name)

    def run_on(self, checkout: str, *arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, openreg_run.__file__, checkout, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def test_outcomes_of_a_file(self) -> None:
        tests = self.checkout / openreg_run.FOLDER
        tests.mkdir(parents=True)
        (tests / "test_made.py").write_text(FILE, encoding="utf-8")
        written = self.checkout / "rows.json"
        done = self.run_on(str(self.checkout), "--json", str(written))
        self.assertEqual(done.returncode, 1, done.stderr)
        rows = {row["test"].partition(".test_")[2]: row for row in json.loads(written.read_text(encoding="utf-8"))}
        outcomes = {test: row["outcome"] for test, row in rows.items()}
        one = "not applicable"
        expected = {"a_works": "passed", "b_fails": "failed", "c_second_device": one, "d_skips": "skipped"}
        if devices_here() > 1:
            expected["c_second_device"] = "failed"
        self.assertEqual(outcomes, {**expected, "e_crashes": "failed"})
        self.assertEqual(rows["b_fails"]["said"], "AssertionError: for all to see")
        self.assertIn("ended with 7", rows["e_crashes"]["said"])
        self.assertIn("| `test_made.py` | 1 | ", done.stdout)

    def test_nothing_to_run(self) -> None:
        done = self.run_on(str(self.checkout))
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, f"{self.checkout}/.* has no test_.*Give a checkout of pytorch/pytorch")

    def test_explanations(self) -> None:
        def outcome(row: str, reason: str | None, second: bool = False, devices: int = 1) -> str:
            made = {"test": "T.t", "outcome": row, "said": "why", "second": second}
            return openreg_run.explain("f.py", made, {"f.py::T.t": reason} if reason else {}, devices)["outcome"]

        self.assertEqual(outcome("failed", None), "failed")
        self.assertEqual(outcome("failed", "open: to do"), "open")
        self.assertEqual(outcome("failed", "not ours"), "not applicable")
        self.assertEqual(outcome("passed", "not ours"), "failed")
        self.assertEqual(outcome("failed", None, second=True), "not applicable")
        self.assertEqual(outcome("failed", None, second=True, devices=2), "failed")

    @unittest.skipUnless(os.environ.get("FLAGOS_PYTORCH"), "needs FLAGOS_PYTORCH, a checkout of pytorch/pytorch")
    def test_pytorchs_files(self) -> None:
        done = self.run_on(os.environ["FLAGOS_PYTORCH"])
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


def devices_here() -> int:
    import flagos.device  # noqa: PLC0415

    return flagos.device.device_count()


if __name__ == "__main__":
    unittest.main()
