"""Runs flagos-diag ab-bench: what it claims, exit codes, what it can't measure. Called as: ab_bench_test.py FLAGOS_DIAG."""

import json
import os
import subprocess
import sys
import unittest

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

    def test_unknown_workload_names_those_there_are(self):
        self.assertIn("qwen3-decode", self.refused("--workload", "gpt"))

    def test_what_is_refused_by_the_operator_is_told(self):
        code, found = document("mm", "--call", "99", "--time-budget", "1")
        self.assertEqual(code, 3)
        self.assertIn("recorded calls", found["summary"]["not_measured"]["mm --call 99"])


if __name__ == "__main__":
    unittest.main()
