"""PyTorch's OpInfo entries in breadth, flagos on and off against the target: values, derivatives, out=, sparse.

opinfo_sweep.py [--target cpu|cuda] [--samples N] [--every N] [--only NAME ...] [--kinds PATTERN] [--jobs N]
                [--json FILE]

An entry is an operator of op_db or of the foreach lists, a dtype that it has on the CPU, and a kind of call: forward,
backward, forward-mode, second order (float64 and complex128), in place, in place with backward, out= of four forms,
each sparse layout, the transforms of torch.func (float32 and complex64), and inputs to be refused. It is equal when all
its samples agree bit for bit, on and off, in everything that sweep_observed.py sees. `--every N` takes each N-th
operator. On CUDA the kinds that differentiate backwards are left out: PyTorch's engine can't run CUDA's own backward
where a PrivateUse1 backend is registered (pytorch/pytorch#161129). A crash or a call of more than SECONDS names its
entry, and the rest goes on. Those that cannot be equal are named with their cause in opinfo_reasons.yaml; an entry that
differs without one ends the run with 1, and so does a cause of an entry that is equal.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path
from queue import Empty, SimpleQueue

import yaml

HERE = Path(__file__).parent
REASONS = HERE / "opinfo_reasons.yaml"
SECONDS = 120  # without an answer, then the worker is ended
OPERATORS = 100  # that a worker serves before a fresh one takes over


class Worker:
    """One process, which serves operators one by one and is started anew when it dies."""

    def __init__(self, target: str, samples: int, kinds: str) -> None:
        self._target = target
        self._arguments = [str(samples), kinds]
        self._process: subprocess.Popen | None = None
        self._served = 0

    def _start(self) -> subprocess.Popen:
        # An operator that CUDA lacks is an error in both arms then, and not a result on flagos.
        fallback = "warn" if self._target == "cpu" else "error"
        environment = {**os.environ, "FLAGOS_TARGET": self._target, "OMP_NUM_THREADS": "1", "FLAGOS_FALLBACK": fallback}
        return subprocess.Popen(
            [sys.executable, str(HERE / "sweep_worker.py"), *self._arguments], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment)

    def rows(self, op: int) -> list[dict]:
        """The verdicts on the operator's entries; a crash is the verdict on the entry that it happened in."""
        rows: list[dict] = []
        while True:
            if self._process is None or self._served >= OPERATORS:
                self.close()
                self._process, self._served = self._start(), 0
            last = {"start": f"operator {op}", "arm": "start"}
            task = {"op": op, "skip": [row["entry"] for row in rows]}
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            while line := self._line():
                answer = json.loads(line)
                if "done" in answer:
                    self._served += 1
                    return rows
                if "entry" in answer:
                    rows.append(answer)
                else:
                    last = answer
            code = self._process.wait()
            self._process = None
            rows.append({"entry": last["start"], "verdict": "crashed", "said": f"{last['arm']}: exit status {code}"})
            if last["arm"] == "start":
                return rows

    def _line(self) -> str:
        timer = threading.Timer(SECONDS, self._process.kill)
        timer.start()
        try:
            return self._process.stdout.readline()
        finally:
            timer.cancel()

    def close(self) -> None:
        """Lets the process end."""
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()
            self._process = None


def sweep(ops: list[int], target: str, samples: int, kinds: str, jobs: int) -> list[dict]:
    """The rows of all operators, in their order."""
    queue: SimpleQueue = SimpleQueue()
    found: dict[int, list[dict]] = {}
    for op in ops:
        queue.put(op)

    def serve() -> None:
        worker = Worker(target, samples, kinds)
        while True:
            try:
                op = queue.get_nowait()
            except Empty:
                return worker.close()
            found[op] = worker.rows(op)
            if len(found) % 50 == 0:
                print(f"# {len(found)} of {len(ops)} operators", file=sys.stderr, flush=True)
            for row in found[op]:
                if row["verdict"] in ("differs", "crashed"):
                    print(f"# {row['verdict']}: {row['entry']}: {row['said']}", file=sys.stderr, flush=True)

    threads = [threading.Thread(target=serve) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return [row for op in sorted(found) for row in found[op]]


class Reasons:
    """Why an entry is not equal: patterns of entries, each with its cause."""

    def __init__(self) -> None:
        table = yaml.safe_load(REASONS.read_text(encoding="utf-8"))
        self._excluded = table["excluded"] or {}
        self._causes = {pattern: each["cause"] for each in table["differ"] or [] for pattern in each["entries"]}
        self.used: set[str] = set()

    def excluded(self, name: str) -> str:
        """Why an operator is left out, or ""."""
        return self._excluded.get(name, "")

    def cause(self, entry: str) -> str:
        """Why an entry differs, or ""."""
        for pattern, cause in self._causes.items():
            if fnmatch.fnmatchcase(entry, pattern):
                self.used.add(pattern)
                return cause
        return ""

    def unused(self) -> list[str]:
        """Patterns that no entry needed."""
        return [pattern for pattern in self._causes if pattern not in self.used]


def report(rows: list[dict], reasons: Reasons, whole: bool) -> int:
    """Prints each entry that is not equal and the totals; the number of those without a cause."""
    totals: Counter = Counter(row["verdict"] for row in rows if row["verdict"] != "none")
    kinds: Counter = Counter()
    unexplained = 0
    for row in rows:
        if row["verdict"] in ("none", "equal"):
            continue
        unsteady = row["verdict"] == "nondeterministic"
        cause = "the target differs from itself" if unsteady else reasons.cause(row["entry"])
        unexplained += not cause
        kinds[cause or "WITHOUT A CAUSE"] += 1
        print(f"{row['verdict']}: {row['entry']}: {cause or row['said']}")
    stale = reasons.unused() if whole else []
    for pattern in stale:
        print(f"stale: {pattern} is listed, and nothing that it names differs")
    count = sum(totals.values())
    for cause, number in kinds.most_common():
        print(f"# {number}: {cause}")
    print(f"# {count} entries: {totals['equal']} equal ({100 * totals['equal'] / max(count, 1):.2f}%), "
          f"{totals['differs']} differ, {totals['crashed']} crashed, {totals['nondeterministic']} nondeterministic, "
          f"{unexplained} without a cause")
    return unexplained + len(stale)


def main() -> int:
    """Command line; see the module's text."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--samples", type=int, default=2)
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kinds", default="*", metavar="PATTERN")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from sweep_worker import OPS, name_of  # noqa: PLC0415: takes seconds

    reasons = Reasons()
    ops = [number for number, op in enumerate(OPS) if not reasons.excluded(name_of(op))
           and (not options.only or op.name in options.only or name_of(op) in options.only)][:: options.every]
    rows = sweep(ops, options.target, options.samples, options.kinds, options.jobs)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=0), encoding="utf-8")
    whole = options.target == "cpu" and not options.only and options.every == 1 and options.kinds == "*"
    failed = report(rows, reasons, whole)
    return 1 if failed or not any(row["verdict"] == "equal" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
