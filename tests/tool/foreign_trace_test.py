"""Traces of another PyTorch: what of one can't be replayed here is told, in words and in documents, and the rest is.

Called as: foreign_trace_test.py FLAGOS_DIAG.
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
COMMANDS = (["check-op", "--situation", "plain"], ["verify", "--case", "as_recorded"], ["stats"],
            ["ab-bench", "--time-budget", "1"])
HERE = "aten::mm(Tensor self, Tensor mat2) -> Tensor"
ELSEWHERE = "aten::mm_of_tomorrow(Tensor self, Tensor mat2) -> Tensor"


def node(number: int, schema: str, inputs: dict | None = None) -> dict:
    tensors = {"values": [[10 * number, 10 * number, 0, 6, 4, "cpu"], [10 * number + 1, 10 * number + 1, 0, 6, 4, "cpu"]],
               "shapes": [[2, 3], [3, 2]], "types": ["Tensor(float)"] * 2, "strides": [[3, 1], [2, 1]]}
    nothing = {"values": [], "shapes": [], "types": [], "strides": []}
    return {"id": number, "name": "x", "ctrl_deps": 1, "inputs": tensors if inputs is None else inputs,
            "outputs": nothing, "attrs": [{"name": "op_schema", "type": "string", "value": schema}]}


class ForeignTrace(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def trace(self, schema: str, *nodes: dict) -> str:
        file = self.folder / "trace.json"
        file.write_text(json.dumps({"schema": schema, "pid": 1, "time": "", "start_ts": 0, "nodes": nodes,
                                    "finish_ts": 1}))
        return str(file)

    def run_on(self, trace: str, command: list[str], form: str = "json") -> subprocess.CompletedProcess:
        return subprocess.run([PROGRAM, *command, "--trace", trace, "--format", form], capture_output=True, text=True,
                              env={**os.environ, "FLAGOS_TARGET": "cpu"}, timeout=300, check=False)

    def assert_told(self, done: subprocess.CompletedProcess, warnings: list[str], *parts: str) -> None:
        self.assertEqual(len(warnings), len(parts), warnings)
        for warning, part in zip(warnings, parts, strict=True):
            self.assertIn(part, warning)
            self.assertIn(f"flagos-diag: warning: {warning}\n", done.stderr)

    def test_newer_schema_and_operators_that_are_not_here(self):
        trace = self.trace("2.0.0-chakra.0.1.0", node(2, ELSEWHERE), node(3, HERE), node(4, HERE, {"arguments": []}))
        parts = ("schema '2.0.0-chakra.0.1.0', newer", "newer schema (its inputs", "no operator aten::mm_of_tomorrow")
        for command in COMMANDS:
            with self.subTest(command=command[0]):
                done = self.run_on(trace, command)
                self.assertIn(done.returncode, (0, 3) if command[0] == "ab-bench" else (0,), done.stderr)
                document = json.loads(done.stdout)
                self.assert_told(done, document["warnings"], *parts)
                ran = {row["op"] for row in document["results"]} or set(document["summary"])
                self.assertTrue(ran & {"mm", "cases"}, document)
        head = json.loads(self.run_on(trace, COMMANDS[1], "jsonl").stdout.splitlines()[0])
        self.assertEqual(len(head["warnings"]), len(parts))

    def test_nothing_that_is_here(self):
        trace = self.trace("1.1.1-chakra.0.0.4", node(2, ELSEWHERE))
        for command in COMMANDS:
            with self.subTest(command=command[0]):
                done = self.run_on(trace, command)
                self.assertEqual(done.returncode, 3, done.stderr)
                document = json.loads(done.stdout)
                self.assert_told(done, document["warnings"], "no operator aten::mm_of_tomorrow", "none of its 1 nodes")
                self.assertEqual([row["verdict"] for row in document["results"]],
                                 ["n/a"] if command[0] == "ab-bench" else [])

    def test_a_trace_of_today_warns_of_nothing(self):
        done = self.run_on(self.trace("1.1.1-chakra.0.0.4", node(2, HERE)), COMMANDS[0])
        self.assertEqual((done.returncode, done.stderr, json.loads(done.stdout)["warnings"]), (0, "", []))


if __name__ == "__main__":
    unittest.main(argv=["foreign_trace_test.py"])
