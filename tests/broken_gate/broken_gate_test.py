"""A gate broken on purpose is found, by check-op and by verify: broken_gate_test.py FLAGOS_DIAG FOLDER.

FOLDER has a libflagos for each dispatch key that its gate does not see.
"""

import json
import math
import os
import re
import shlex
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
FOLDER = Path(sys.argv[2]).resolve()


def run(key: str, *arguments: str) -> tuple[int, dict]:
    return run_command(key, [PROGRAM, *arguments, "--format", "json"])


def kind(row: dict) -> str:
    return re.sub("[0-9]+", "#", row["reason"])


def flat_shapes(shapes: list) -> list[list[int]]:
    """Those of a trace's column, lists of tensors included."""
    flat = []
    for shape in shapes:
        flat += flat_shapes(shape) if shape and isinstance(shape[0], list) else [shape]
    return flat


def run_command(key: str, command: list[str]) -> tuple[int, dict]:
    """With the library whose gate ignores `key`; with the real one for an empty key."""
    env = {**os.environ, "FLAGOS_TARGET": "cpu"}
    env.pop("LD_LIBRARY_PATH", None)  # the test runner puts every library that was built there
    if key:
        env["LD_LIBRARY_PATH"] = str(FOLDER / key)
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    if not done.stdout:
        raise AssertionError(done.stderr)
    return done.returncode, json.loads(done.stdout)


class BrokenGate(unittest.TestCase):
    KEYS = {"Conjugate": "conj", "Functionalize": "functionalize"}
    OPS = ("add.Tensor", "mul.Tensor", "sub.Tensor")
    # What a kernel below functionalization returns that was reached past the gate shows in a factory's result: there is
    # no wrapper around it. Arguments in wrappers are never boxed, whatever the gate says.
    SEEN_BY_VERIFY = {"Conjugate": OPS, "Functionalize": ("scalar_tensor",)}

    def test_the_libraries_are_there(self):
        for key in self.KEYS:
            self.assertTrue((FOLDER / key / "libflagos.so.0").exists(), key)

    def test_check_op_names_operator_and_situation(self):
        for key, situation in self.KEYS.items():
            code, found = run(key, "check-op", *self.OPS)
            wrong = {(row["op"], row["situation"]) for row in found["results"] if row["agrees"] is False}
            self.assertEqual(wrong, {(op, situation) for op in self.OPS}, key)
            self.assertEqual(code, 1)

    def test_verify_names_operator_and_case(self):
        for key, case in self.KEYS.items():
            ops = self.SEEN_BY_VERIFY[key]
            code, found = run(key, "verify", *ops)
            rows = [row for row in found["results"] if row["equal"] is False]
            self.assertEqual({(row["op"], row["case"]) for row in rows}, {(op, case) for op in ops}, key)
            self.assertIn("on_arrival", {row["arm_b"] for row in rows})
            self.assertGreaterEqual(found["summary"]["on_against_off"]["different"], len(ops))
            self.assertTrue(all(f"--case {case}" in row["reproduce"] for row in rows))
            self.assertEqual(code, 1)

    def test_verify_shrinks_what_fails(self):
        for op in ("add.Tensor", "cat"):
            row = self.first_difference("verify", op)
            before = self.first_difference("verify", op, "--no-shrink")
            self.assertEqual({**row, "reproduce": "", "shrunk": None}, {**before, "reproduce": ""})
            words = shlex.split(row["reproduce"])
            shapes = flat_shapes(json.loads(words[words.index("--args") + 1])["shapes"])
            self.assertTrue(all(math.prod(shape) == 1 for shape in shapes), row)
            self.assertIn("--data constant", row["reproduce"])
            self.assertTrue(row["shrunk"].startswith("conj: "), row)
            code, again = self.in_a_shell("Conjugate", row["reproduce"])
            self.assertEqual(code, 1)
            found = [each for each in again["results"] if each["equal"] is False]
            self.assertEqual({(each["arm_a"], each["arm_b"], kind(each)) for each in found},
                             {(row["arm_a"], row["arm_b"], kind(row))})
            self.assertEqual(found[0]["reproduce"], row["reproduce"])
            code, again = self.in_a_shell("", row["reproduce"])
            self.assertEqual((code, again["results"], again["summary"]["equal"]), (0, [], 1))

    def first_difference(self, *arguments: str) -> dict:
        rows = run("Conjugate", *arguments)[1]["results"]
        return next(row for row in rows if row["equal"] is False)

    def in_a_shell(self, key: str, line: str) -> tuple[int, dict]:
        program, rest = line.split(" ", 1)
        self.assertEqual(program, "flagos-diag")
        return run_command(key, ["sh", "-c", f"exec {shlex.quote(PROGRAM)} {rest} --format json"])

    def test_the_real_gate_passes_the_same(self):
        for command in ("check-op", "verify"):
            code, found = run("", command, *self.OPS, "scalar_tensor")
            self.assertEqual(code, 0, found["results"])


if __name__ == "__main__":
    unittest.main()
