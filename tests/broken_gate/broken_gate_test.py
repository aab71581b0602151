"""A gate broken on purpose is found, by check-op and by verify: broken_gate_test.py FLAGOS_DIAG FOLDER.

FOLDER has a libflagos for each dispatch key that its gate does not see.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

PROGRAM = os.path.abspath(sys.argv[1])
FOLDER = Path(sys.argv[2]).resolve()


def run(key: str, *arguments: str) -> tuple[int, dict]:
    """With the library whose gate ignores `key`; with the real one for an empty key."""
    env = {**os.environ, "FLAGOS_TARGET": "cpu"}
    env.pop("LD_LIBRARY_PATH", None)  # the test runner puts every library that was built there
    if key:
        env["LD_LIBRARY_PATH"] = str(FOLDER / key)
    command = [PROGRAM, *arguments, "--format", "json"]
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
            self.assertTrue(all(f"--case {case}" in row["reproduce"] for row in rows))
            self.assertEqual(code, 1)

    def test_the_real_gate_passes_the_same(self):
        for command in ("check-op", "verify"):
            code, found = run("", command, *self.OPS, "scalar_tensor")
            self.assertEqual(code, 0, found["results"])


if __name__ == "__main__":
    unittest.main()
