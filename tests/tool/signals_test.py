"""SIGINT, SIGTERM and SIGKILL at a random moment of each command of flagos-diag.

Called as: signals_test.py FLAGOS_DIAG WORKLOADS [--rounds N] [--seed N].
"""
from __future__ import annotations

import argparse
import csv
import io
import json
import os
import random
import signal
import subprocess
import tempfile
import time
import unittest
import uuid
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("program")
parser.add_argument("workloads")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--seed", type=int, default=time.time_ns() % 10**6)
OPTIONS = parser.parse_args()
PROGRAM = os.path.abspath(OPTIONS.program)
TRACE = os.path.abspath(Path(OPTIONS.workloads) / "qwen3-train.json")
# With the seconds within which the signal comes.
COMMANDS = {
    "check-op": (["check-op", "--trace", TRACE], 2.0),
    "verify": (["verify", "--all"], 3.0),
    "ab-bench": (["ab-bench", "--workload", "lstm", "--time-budget", "60"], 4.0),
    "stats": (["stats", "--trace", TRACE], 1.5),
    "explain": (["explain", "add"], 0.5),
    "routes": (["routes"], 0.5),
    "doctor": (["doctor"], 0.5),
}


def marked(mark: str) -> list[str]:
    """The processes that inherited `mark` in their environment, the dead that nobody waits for left out."""
    found = []
    for each in Path("/proc").iterdir():
        try:
            if each.name.isdigit() and mark.encode() in (each / "environ").read_bytes():
                found.append((each / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


class Signals(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.random = random.Random(f"{OPTIONS.seed} {self.id()}")
        self.mark = f"mark={uuid.uuid4()}"

    def interrupted(self, arguments: list[str], within: float, number: int) -> tuple[int, bytes, str]:
        """Exit code and output of a run that gets signal `number` at a random moment, and how it was done."""
        delay = self.random.uniform(0.05, within)
        name, value = self.mark.split("=")
        env = {**os.environ, "FLAGOS_TARGET": "cpu", "TMPDIR": str(self.folder), name: value}
        with subprocess.Popen([PROGRAM, *arguments], env=env, cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL) as process:
            time.sleep(delay)
            process.send_signal(number)
            out = process.communicate(timeout=60)[0]
        how = f"{signal.Signals(number).name} after {delay:.3f} s of {' '.join(arguments)}, seed {OPTIONS.seed}"
        end = time.monotonic() + 5  # what the kernel kills does not end at once
        while (left := marked(self.mark)) and time.monotonic() < end:
            time.sleep(0.05)
        self.assertEqual(left, [], how)
        return process.returncode, out, how

    def assert_parses(self, form: str, out: bytes, how: str) -> None:
        text = out.decode()
        if form == "json":
            self.assertIn("results", json.loads(text), how)
        elif form == "jsonl":
            self.assertTrue([json.loads(line) for line in text.splitlines()], how)
        else:
            rows = list(csv.reader(io.StringIO(text)))
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, how)

    def test_what_there_is_is_printed(self):
        for round_ in range(OPTIONS.rounds):
            for place, (name, (arguments, within)) in enumerate(COMMANDS.items()):
                number = (signal.SIGINT, signal.SIGTERM)[(place + round_ + OPTIONS.seed) % 2]
                form = self.random.choice(["json", "jsonl", "csv"])
                with self.subTest(command=name):
                    code, out, how = self.interrupted([*arguments, "--format", form], within, number)
                    # -number: it came before the program could catch it, and nothing had been printed
                    self.assertIn(code, (0, 1, 130, -number), how)
                    if code == -number:
                        self.assertEqual(out, b"", how)
                    else:
                        self.assert_parses(form, out, how)
                    self.assertEqual(os.listdir(self.folder), [], how)

    def test_long_commands_end_with_130(self):
        for arguments, number in ((["verify", "--all"], signal.SIGTERM), (["check-op", "--all"], signal.SIGINT)):
            process = subprocess.Popen([PROGRAM, *arguments, "--format", "json"], stdout=subprocess.PIPE,
                                       env={**os.environ, "FLAGOS_TARGET": "cpu"})
            workers = Path(f"/proc/{process.pid}/task/{process.pid}/children")
            while not workers.read_text(encoding="ascii"):  # it has begun
                time.sleep(0.01)
            process.send_signal(number)
            out = process.communicate(timeout=60)[0]
            self.assertEqual(process.returncode, 130)
            document = json.loads(out)
            self.assertIn("results", document)
            self.assertEqual(document["warnings"], ["interrupted: the results are those until then"])

    def test_kill_leaves_no_workers(self):
        code, _, _ = self.interrupted(["ab-bench", "--workload", "lstm", "--time-budget", "60"], 5.0, signal.SIGKILL)
        self.assertEqual(code, -signal.SIGKILL)

    def test_page_is_whole_or_the_old_one(self):
        document = self.folder / "a.json"
        env = {**os.environ, "FLAGOS_TARGET": "cpu"}
        subprocess.run([PROGRAM, "check-op", "mm", "--situation", "plain", "--format", "json", "--output", str(document)],
                       env=env, check=True, timeout=120)
        page = self.folder / "page.html"
        for number in (signal.SIGINT, signal.SIGTERM) * OPTIONS.rounds:
            page.write_text("old", encoding="utf-8")
            code, _, how = self.interrupted(["report", str(document), "-o", str(page)], 1.5, number)
            content = page.read_text(encoding="utf-8")
            self.assertIn(code, (0, 130, -number), how)
            if code == 0 or content != "old":
                self.assertTrue(content.rstrip().endswith("</html>"), how)
            self.assertEqual(sorted(os.listdir(self.folder)), ["a.json", "page.html"], how)


if __name__ == "__main__":
    unittest.main(argv=["signals_test.py"])
