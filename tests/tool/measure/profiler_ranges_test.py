"""What a profiler sees of ab-bench: its NVTX ranges. Called as: profiler_ranges_test.py FLAGOS_DIAG INJECTION."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from collections import Counter, defaultdict
from pathlib import Path

PROGRAM, INJECTION = map(os.path.abspath, sys.argv[1:3])
ARMS = {"native", "off", "on", "aa"}


def trace_of_one_call() -> str:
    """A trace with one call of relu."""
    tensor = {"values": [[1, 1, 0, 6, 4, "cpu"]], "shapes": [[2, 3]], "types": ["Tensor(float)"], "strides": [[3, 1]]}
    nothing = {"values": [], "shapes": [], "types": [], "strides": []}
    schema = {"name": "op_schema", "type": "string", "value": "aten::relu(Tensor self) -> Tensor"}
    node = {"id": 2, "name": "x", "ctrl_deps": 1, "inputs": tensor, "outputs": nothing, "attrs": [schema]}
    return json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "time": "", "start_ts": 0, "nodes": [node],
                       "finish_ts": 1})


class Ranges(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def seen(self, *arguments: str) -> tuple[dict, dict[str, list[str]]]:
        """The document of a run, and the ranges within each outermost range, in order."""
        log = self.folder / "ranges"
        env = {**os.environ, "FLAGOS_TARGET": "cpu", "NVTX_INJECTION64_PATH": INJECTION, "FLAGOS_NVTX_LOG": str(log)}
        done = subprocess.run([PROGRAM, "ab-bench", *arguments, "--format", "json"], env=env, capture_output=True,
                              text=True, timeout=300, check=False)
        self.assertTrue(log.exists(), f"no range was seen: {done.stderr}")
        within: dict[str, list[str]] = {}
        open_ranges: dict[str, list[str]] = defaultdict(list)
        for line in log.read_text().splitlines():
            thread, event, *name = line.split(maxsplit=2)
            stack = open_ranges[thread]
            if event == "pop":
                self.assertTrue(stack, "a range ends that never began")
                stack.pop()
            elif stack:
                self.assertEqual(len(stack), 1, f"{name} within {stack}")
                within[stack[0]].append(*name)
                stack += name
            else:
                self.assertNotIn(name[0], within, "each case has one range")
                within[name[0]] = []
                stack += name
        self.assertEqual([stack for stack in open_ranges.values() if stack], [], "ranges that never end")
        return json.loads(done.stdout), within

    def assert_blocks(self, ranges: list[str], blocks: int) -> None:
        """After a slice or more to find the number of runs, each block has one of every arm."""
        self.assertEqual(set(ranges), ARMS)
        measured = ranges[-len(ARMS) * blocks:]
        self.assertGreater(len(ranges), len(measured))
        self.assertEqual(Counter(measured), {arm: blocks for arm in ARMS})
        for start in range(0, len(measured), len(ARMS)):
            self.assertEqual(set(measured[start:start + len(ARMS)]), ARMS, f"slice {start}")

    def test_each_arm_of_each_block_within_its_case(self):
        document, within = self.seen("add_.Tensor", "mul_.Tensor", "--call", "0", "--time-budget", "6")
        self.assertEqual(list(within), ["add_.Tensor --call 0", "mul_.Tensor --call 0"])
        for row in document["results"]:
            self.assert_blocks(within[f"{row['op']} --call {row['call']}"], row["blocks"])

    def test_the_whole_trace(self):
        trace = self.folder / "trace.json"
        trace.write_text(trace_of_one_call())
        document, within = self.seen("--trace", str(trace), "--time-budget", "6")
        self.assertEqual(list(within), ["(step)", "relu --call 0"])
        self.assert_blocks(within["(step)"], document["results"][0]["blocks"])

    def test_a_case_that_can_not_be_measured(self):
        _, within = self.seen("add_.Tensor", "--call", "9999", "--time-budget", "1")
        self.assertEqual(within, {"add_.Tensor --call 9999": []})


if __name__ == "__main__":
    unittest.main(argv=["profiler_ranges_test.py"])
