"""The cases that the fuzzer found, and a short run of it from a fixed seed. Run through unittest_tap.py.

fuzz_test.py CORPUS [CALLS]: CALLS (1500) bounds the run; longer ones are the fuzzer's own, see fuzz.py.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import unittest
from pathlib import Path

from call_source import reproducer
from child import Child
from compare import differences, flattened
from fuzz import Run
from mutations import MUTATIONS, mutated
from seeds import Seeds

CORPUS = Path(sys.argv[1])
CALLS = int(sys.argv[2]) if len(sys.argv) > 2 else 1500
CASES = sorted(Path(__file__).with_name("cases").glob("*.json"))
BAD = ("finding", "crash", "hang")


class CasesTest(unittest.TestCase):
    def test_each_agrees_with_the_target(self) -> None:
        self.assertTrue(CASES)
        with Child() as child:
            for file in CASES:
                call = json.loads(file.read_text())["call"]
                answer = child.judge(call)
                with self.subTest(file.stem):
                    self.assertNotIn(answer["outcome"], (*BAD, "unusable"), answer["detail"])


class RunTest(unittest.TestCase):
    def test_of_a_fixed_seed_finds_nothing(self) -> None:
        run = Run(20, CORPUS, "*")
        run.go(CALLS, 300)
        print(run.summary(), file=sys.stderr)
        self.assertGreater(run.outcomes["same"], CALLS / 3, run.summary())
        self.assertEqual({key: found.answer["detail"] for key, found in run.findings.items()}, {})


class ToolTest(unittest.TestCase):
    """That the fuzzer would see a difference, and lives through a crash."""

    def test_a_difference_is_a_finding(self) -> None:
        one = {"result": [{"size": (2,), "values": b"\\0"}], "memory": []}
        other = {"result": [{"size": (2,), "values": b"\\1"}], "memory": []}
        self.assertEqual(list(differences(flattened(one), flattened(other))), [("result", 0, "values")])
        self.assertEqual(differences(flattened(one), flattened(one)), {})

    def test_a_crash_is_told_with_its_call_and_arm(self) -> None:
        request = {"seed": 1, "start": 0, "stop": 1 << 20, "corpus": str(CORPUS), "op": "add.Tensor"}
        with Child() as child:
            answers = child.answers(request)
            first = next(answers)
            os.kill(child.pid, signal.SIGSEGV)
            *_, crashed = answers
            after = child.judge(json.loads(CASES[0].read_text())["call"])
        self.assertNotIn(first["outcome"], BAD)
        self.assertEqual(crashed["outcome"], "crash")
        self.assertRegex(crashed["detail"], "SIGSEGV in arm")
        self.assertGreaterEqual(crashed["number"], first["number"])
        self.assertNotIn(after["outcome"], BAD)

    def test_mutations_are_the_same_for_the_same_seed(self) -> None:
        import random

        seeds = Seeds(CORPUS, "cat*")
        call = seeds.draw(random.Random(1))
        chosen = [(name, 5) for name in MUTATIONS]
        self.assertEqual(mutated(call, chosen), mutated(call, chosen))
        self.assertEqual(call, seeds.draw(random.Random(1)))

    def test_a_reproducer_is_a_program(self) -> None:
        for file in CASES:
            compile(reproducer(json.loads(file.read_text())["call"]), file.name, "exec")


if __name__ == "__main__":
    unittest.main()
