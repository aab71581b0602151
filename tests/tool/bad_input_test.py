"""What is wrong on a command line is told in a line or two that names it and says what would be right.

Called as: bad_input_test.py FLAGOS_DIAG.
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
LONG = "x" * 100_000


def run(*arguments: str, timeout: float = 120) -> subprocess.CompletedProcess:
    return subprocess.run([PROGRAM, *arguments], env={**os.environ, "FLAGOS_TARGET": "cpu"}, capture_output=True,
                          text=True, timeout=timeout, check=False)


class Refused(unittest.TestCase):
    def refused(self, *arguments: str, names: tuple[str, ...]) -> None:
        """Ends with 2, prints no data, and in few words each of `names`."""
        with self.subTest(arguments=[argument[:40] for argument in arguments]):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr[:500])
            self.assertLess(len(done.stderr), 500)
            self.assertTrue(done.stderr.replace("\n", "").isprintable())
            for name in names:
                self.assertIn(name, done.stderr)

    def test_whole_numbers(self):
        for value in ("-1", "1.5", "1e3", "x", "99999999999999999999", "9223372036854775807"):
            for command in ("verify", "ab-bench"):
                self.refused(command, "mm", "--call", value, names=("--call", value, "from 0 to 1000000000"))
        for value in ("-1", "1e3", "99999999999999999999"):
            self.refused("verify", "mm", "--seed", value, names=("--seed", value, "whole number"))
        for value in ("0", "-2", "nan"):
            self.refused("verify", "mm", "--shrink-tries", value, names=("--shrink-tries", value, "from 1"))
        for value in ("0", "1000000", "99999999999"):
            self.refused("ab-bench", "mm", "--threads", value, names=("--threads", value, "from 1 to 1024"))
        self.refused("record", "--steps", "0", "-o", "x.json", "--", "true", names=("--steps", "from 1"))

    def test_numbers(self):
        for command, option in (("verify", "--shrink-seconds"), ("ab-bench", "--time-budget"),
                                ("ab-bench", "--threshold")):
            for value in ("nan", "inf", "1e300", "0", "-1", "1x", LONG):
                self.refused(command, "mm", option, value, names=(option, value[:20], "above 0"))
        self.refused("record", "--max-mb", "nan", "-o", "x.json", "--", "true", names=("--max-mb", "nan"))

    def test_slowed_arms(self):
        for value in ("on=inf%", "on=nan%", "on=1e30%", "on=-3%", "on=3", LONG):
            self.refused("ab-bench", "mm", "--plant", value, names=("--plant", value[:20], "on=3%"))
        self.refused("ab-bench", "mm", "--plant", "on=3%", "--plant", "on=5%", names=("--plant", "two for on"))

    def test_regressions(self):
        for value in (f"slower>{'9' * 400}%", LONG, "slower>2", "slower>-2%", "faster>2%", "slower>2%\n"):
            self.refused("ab-bench", "mm", "--fail-on", value, names=("--fail-on", value[:9], "slower>2%"))

    def test_operators(self):
        for command in ("check-op", "verify", "ab-bench"):
            self.refused(command, "mm", "--all", names=("mm", "--all", "leave out"))
            self.refused(command, LONG, names=("no operator xxx", "--list"))
            self.refused(command, "mm\x1b[31m", names=("no operator mm?[31m",))


class Repeats(unittest.TestCase):
    def test_what_is_asked_for_twice_is_done_once(self):
        for command, option, name in ((["verify", "mm", "--call", "0", "-v"], "--case", "offset"),
                                      (["check-op", "mm"], "--situation", "plain")):
            once, twice = (json.loads(run(*command, option, names, "--format", "json").stdout)
                           for names in (name, f"{name},{name}"))
            self.assertTrue(once["results"])
            self.assertEqual((twice["results"], twice["summary"].get("cases")),
                             (once["results"], once["summary"].get("cases")))


class Documents(unittest.TestCase):
    def test_what_earlier_runs_warned_of_is_told_where_they_are_compared(self):
        with tempfile.TemporaryDirectory() as folder:
            old, new = (Path(folder, name) for name in ("old.json", "new.json"))
            document = json.loads(run("verify", "mm", "--case", "offset", "--format", "json").stdout)
            new.write_text(json.dumps(document))
            document["warnings"] = ["interrupted \x1b[31m"] * 100
            old.write_text(json.dumps(document))
            done = run("compare", str(old), str(new), "--format", "json")
            self.assertEqual(done.returncode, 0, done.stderr)
            warnings = json.loads(done.stdout)["warnings"]
            self.assertEqual(warnings, [f"{old}: interrupted ?[31m"] * 20 + [f"{old}: and 80 more"])
            del document["warnings"]  # of an earlier version
            old.write_text(json.dumps(document))
            self.assertEqual(json.loads(run("compare", str(old), str(new), "--format", "json").stdout)["warnings"], [])


if __name__ == "__main__":
    unittest.main(argv=["bad_input_test.py"])
