"""Runs flagos-diag ab-bench: what it claims, exit codes, what it can't measure. Called as: ab_bench_test.py FLAGOS_DIAG."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
PAIRS = {("off", "native"), ("on", "native"), ("on", "off"), ("aa", "on")}


def run(*arguments: str) -> subprocess.CompletedProcess:
    env = {**os.environ, "FLAGOS_TARGET": "cpu"}
    command = [PROGRAM, "ab-bench", *arguments]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)


def document(*arguments: str) -> tuple[int, dict]:
    done = run(*arguments, "--format", "json")
    return done.returncode, json.loads(done.stdout)


def ratio_row(found: dict, arm: str, against: str) -> dict:
    return next(row for row in found["results"] if (row["arm"], row["against"]) == (arm, against))


class Claims(unittest.TestCase):
    def test_fields_arms_and_pairs(self):
        _, found = document("add.Tensor", "--call", "0", "--time-budget", "1")
        self.assertEqual({(row["arm"], row["against"]) for row in found["results"]}, PAIRS | {("native", None)})
        fields = ("op case arm against ns_median ns_ci_low ns_ci_high device_ns_median ratio ratio_ci_low "
                  "ratio_ci_high p_adjusted verdict blocks").split()
        for row in found["results"]:
            self.assertLessEqual(set(fields), set(row))
            self.assertLessEqual(row["ns_ci_low"], row["ns_median"])
            self.assertGreaterEqual(row["ns_ci_high"], row["ns_median"])
            self.assertIsNone(row["device_ns_median"], "the CPU has no device time")
        self.assertIn("noise_floor", found["summary"])

    def test_the_same_arms_are_not_told_apart(self):
        """Three seeds; perf/claims.py counts over many."""
        for seed in "123":
            _, found = document("add_.Tensor", "--call", "0", "--time-budget", "1.5", "--same-arms", "--seed", seed)
            self.assertIn(ratio_row(found, "on", "off")["verdict"], ("SAME", "INCONCLUSIVE"), found["results"])

    def test_a_planted_slowdown_is_found_and_fails(self):
        arguments = ("add_.Tensor", "--call", "0", "--time-budget", "2", "--same-arms", "--plant", "on=50%")
        code, found = document(*arguments, "--fail-on", "slower>10%")
        self.assertEqual(ratio_row(found, "on", "off")["verdict"], "SLOWER")
        self.assertEqual(code, 1)
        code, _ = document(*arguments, "--fail-on", "slower>900%")
        self.assertEqual(code, 0)

    def test_calls_that_change_their_arguments_layout(self):
        _, found = document("unsqueeze_", "resize_", "--call", "0", "--time-budget", "2")
        self.assertEqual(found["summary"]["not_measured"], {})
        self.assertEqual({row["op"] for row in found["results"]}, {"unsqueeze_", "resize_"})


@unittest.skipUnless(shutil.which("valgrind"), "needs valgrind (apt-get install valgrind)")
class Instructions(unittest.TestCase):
    """One run for all: callgrind takes half a minute to begin."""

    @classmethod
    def setUpClass(cls):
        _, cls.found = document("add_.Tensor", "view", "mm", "--call", "0", "--time-budget", "3", "--instructions",
                                "--instructions-by", "callgrind")
        cls.counts = {row["op"]: row for row in cls.found["results"]}  # the same in all rows of a case

    def test_every_row_of_a_case_has_them(self):
        self.assertEqual((self.found["summary"]["instructions_by"], self.found["summary"]["not_counted"]),
                         ("callgrind", {}))
        for row in self.found["results"]:
            counts, over = row["instructions_per_call"], row["instructions_over_native"]
            self.assertEqual(row["instructions_by"], "callgrind")
            self.assertEqual(over, {arm: counts[arm] - counts["native"] for arm in ("off", "on")})

    def test_the_fast_path_is_shorter_and_neither_is_free(self):
        over = self.counts["add_.Tensor"]["instructions_over_native"]
        self.assertLess(over["on"], over["off"])
        self.assertGreater(over["on"], 0)

    def test_a_view_is_never_boxed(self):
        over = self.counts["view"]["instructions_over_native"]
        self.assertLess(over["on"], self.counts["add_.Tensor"]["instructions_over_native"]["on"])


class Baseline(unittest.TestCase):
    ARGUMENTS = ("add_.Tensor", "--call", "0", "--time-budget", "1")

    @classmethod
    def setUpClass(cls):
        _, cls.before = document(*cls.ARGUMENTS)

    def against(self, before: dict, *arguments: str) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "before.json")
            file.write_text(json.dumps(before))
            return run(*self.ARGUMENTS, "--baseline", str(file), "--format", "json", *arguments)

    def times(self, factor: float) -> dict:
        """The earlier run, all its times multiplied."""
        before = json.loads(json.dumps(self.before))
        for row in before["results"]:
            for field in ("ns_median", "ns_ci_low", "ns_ci_high"):
                row[field] *= factor
        return before

    def test_changes_are_those_that_compare_finds(self):
        done = self.against(self.times(0.1))
        found = json.loads(done.stdout)
        self.assertEqual(found["summary"]["baseline"]["verdicts"]["SLOWER"], 3)
        verdicts = {row["arm"]: row["baseline"] and row["baseline"]["verdict"] for row in found["results"]}
        self.assertEqual(verdicts, {"native": "SLOWER", "off": "SLOWER", "on": "SLOWER", "aa": None})
        with tempfile.TemporaryDirectory() as folder:
            files = [Path(folder, name) for name in ("before.json", "after.json")]
            for file, content in zip(files, (self.times(0.1), found), strict=True):
                file.write_text(json.dumps(content))
            compared = json.loads(subprocess.run([PROGRAM, "compare", *map(str, files), "--format", "json"],
                                                 capture_output=True, text=True, check=False).stdout)
        for row in compared["results"]:
            mine = next(each["baseline"] for each in found["results"] if each["arm"] == row["arm"])
            self.assertEqual((mine["speedup"], mine["verdict"]), (row["speedup"], row["verdict"]))

    def test_changes_count_for_fail_on(self):
        self.assertEqual(self.against(self.times(0.1), "--fail-on", "on/baseline:slower>20%").returncode, 1)
        self.assertEqual(self.against(self.times(10), "--fail-on", "on/baseline:slower>20%").returncode in (0, 3), True)

    def test_unlike_environments(self):
        before = self.times(1)
        before["environment"]["torch"] = "1.0"
        done = self.against(before)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        for part in ("1.0", "--force"):
            self.assertIn(part, done.stderr)
        found = json.loads(self.against(before, "--force").stdout)
        self.assertEqual(len(found["summary"]["baseline"]["unlike"]), 1)


class TimeBudget(unittest.TestCase):
    def test_what_was_not_reached_is_told(self):
        _, found = document("--all", "--time-budget", "2")
        summary = found["summary"]
        self.assertGreater(summary["not_reached"], 2000)
        left_out = [row for row in found["results"] if (row["note"] or "").startswith("not reached")]
        self.assertEqual(len(left_out), summary["not_reached"])
        self.assertLess(summary["seconds"], 60)
        self.assertTrue(any("--time-budget" in note for note in found["notes"]), found["notes"])
        self.assertEqual([note for note in summary["not_measured"].values() if "reached" in note], [])


class Usage(unittest.TestCase):
    def refused(self, *arguments: str) -> str:
        done = run(*arguments)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertEqual(done.stdout, "")
        return done.stderr

    def test_needs_operators(self):
        self.assertIn("--all", self.refused())

    def test_options_that_say_nothing(self):
        self.assertIn("slower>2%", self.refused("mm", "--fail-on", "slow"))
        self.assertIn("on=3%", self.refused("mm", "--plant", "on"))
        self.assertIn("on=3%", self.refused("mm", "--plant", "aa=3%"))
        self.refused("mm", "--time-budget", "-1")

    def test_options_of_instructions_and_baseline(self):
        self.assertIn("baseline", self.refused("mm", "--fail-on", "on/baseline:slower>2%"))
        self.assertIn("no_such.json", self.refused("mm", "--baseline", "/no_such.json"))
        self.refused("mm", "--force")
        self.refused("mm", "--instructions-by", "perf")
        self.assertIn("--threads", self.refused("mm", "--instructions", "--threads", "2"))
        done = subprocess.run([PROGRAM, "ab-bench", "mm", "--instructions", "--instructions-by", "callgrind"],
                              env={**os.environ, "FLAGOS_TARGET": "cpu", "PATH": "/no/such/folder"},
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("valgrind", done.stderr)

    def test_unknown_workload_names_those_there_are(self):
        self.assertIn("qwen3-decode", self.refused("--workload", "gpt"))

    def test_what_is_refused_by_the_operator_is_told(self):
        code, found = document("mm", "--call", "99", "--time-budget", "1")
        self.assertEqual(code, 3)
        self.assertIn("recorded calls", found["summary"]["not_measured"]["mm --call 99"])


if __name__ == "__main__":
    unittest.main()
