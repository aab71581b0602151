"""The package's types are complete, and a type checker of a user's sees them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PYTHON = Path(__file__).resolve().parents[2] / "python"

USER = """
import flagos
import torch
reveal_type(flagos.target())
reveal_type(flagos.stats()["aten::mm"].hit_rate)
reveal_type(flagos.explain(torch.mm, 1, 2))
reveal_type(flagos.explain("mm"))
flagos.set_redispatch_enabled("no")
"""


def mypy(*arguments: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as cache:
        return subprocess.run(
            [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", cache, *arguments],
            cwd=PYTHON, capture_output=True, text=True, check=False,
        )  # fmt: skip


@unittest.skipIf(importlib.util.find_spec("mypy") is None, "needs mypy: pip install mypy")
class TypesTest(unittest.TestCase):
    def test_the_package_is_strict_and_its_users_see_its_types(self) -> None:
        with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as user:
            user.write(USER)
            user.flush()
            done = mypy("--strict", "flagos", user.name)
        said = [line for line in done.stdout.splitlines() if Path(user.name).name in line]
        self.assertEqual([line for line in done.stdout.splitlines() if line not in said], [], done.stderr)
        said = [line for line in said if not line.endswith("defined here")]
        for line, text in zip(said, ('"str"', '"float', "Verdict", "list[flagos._explain.Verdict]", "[arg-type]")):
            self.assertIn(text, line)
        self.assertEqual(len(said), 5, said)

    def test_the_package_says_that_it_has_types(self) -> None:
        self.assertTrue((PYTHON / "flagos" / "py.typed").is_file())


if __name__ == "__main__":
    unittest.main()
