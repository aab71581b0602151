#!/usr/bin/env python3
"""Fuzzes operator calls: flagos, on and off, against the target itself.

fuzz.py [--seed N] [--calls N] [--minutes M] [--op GLOB] [--corpus FILE] [--save FOLDER]: draws operators and arguments, changes
them, and prints each finding as a program that shows it. fuzz.py --replay FILE...: calls saved earlier.
Exit status: 0 nothing differs, 1 a finding, 2 usage.
"""

from __future__ import annotations

import argparse
import collections
import json
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from call_source import Call, reproducer
from child import Child
from minimise import fewer_mutations, signature, simplified
from mutations import mutated
from seeds import Seeds
from worker import drawn_call

CORPUS = Path(__file__).resolve().parents[2] / "build" / "tool" / "traces" / "corpus.json"
BATCH = 400


@dataclass
class Finding:
    """A call that differs, as small as it could be made."""

    number: int
    call: Call
    mutations: list
    answer: dict
    times: int = 1

    def text(self, seed: int) -> str:
        names = ", ".join(name for name, _ in self.mutations) or "none"
        return "\n".join([
            f"# {'-' * 100}", f"# {self.call['op']}: {self.answer['kind']}: {self.answer['detail']}",
            f"# --seed {seed}, call {self.number}, mutations: {names}", reproducer(self.call)])


@dataclass
class Run:
    """One run of the fuzzer."""

    seed: int
    corpus: Path
    pattern: str
    outcomes: collections.Counter = field(default_factory=collections.Counter)
    operators: set[str] = field(default_factory=set)
    known: collections.Counter = field(default_factory=collections.Counter)
    unusable: collections.Counter = field(default_factory=collections.Counter)
    of_target: collections.Counter = field(default_factory=collections.Counter)
    findings: dict[tuple, Finding] = field(default_factory=dict)
    position: int = 0

    def __post_init__(self) -> None:
        self.seeds = Seeds(self.corpus, self.pattern)
        if not self.seeds.known and not self.seeds.unknown:
            raise SystemExit(f"fuzz.py: no operator matches '{self.pattern}'; give a name such as add.Tensor, or a glob")

    def go(self, calls: int, seconds: float) -> None:
        """Until so many calls are made or the time is over."""
        end = time.monotonic() + seconds
        with Child() as child, Child() as checker:
            while self.position < calls and time.monotonic() < end:
                stop = min(self.position + BATCH, calls)
                request = {"seed": self.seed, "start": self.position, "stop": stop, "corpus": str(self.corpus), "op": self.pattern}
                last = self.position - 1
                for answer in child.answers(request):
                    last = max(last, answer["number"])
                    self.take(answer, checker)
                    if time.monotonic() > end:
                        return
                    if answer["outcome"] in ("crash", "hang"):
                        stop = last + 1
                self.position = max(stop, self.position + (last < self.position))

    def take(self, answer: dict, checker: Child) -> None:
        """Counts an answer; a finding is made small and kept."""
        drawn = drawn_call(self.seeds, self.seed, answer["number"])
        if drawn is None:
            return
        self.operators.add(drawn[0]["op"])
        if answer["outcome"] in ("crash", "hang"):
            answer = self.confirmed(answer, mutated(*drawn), checker)
        key = (drawn[0]["op"], *signature(answer))
        if key in self.findings:
            self.findings[key].times += 1
        elif answer["outcome"] in ("finding", "crash", "hang"):
            answer = self.kept(key, answer, *drawn, checker)
        self.outcomes[answer["outcome"]] += 1
        if answer["outcome"] == "unusable":
            self.unusable[f"{answer['kind']}: {answer['detail'].splitlines()[0][:100] if answer['detail'] else ''}"] += 1
        if answer["outcome"] == "known":
            self.known[answer["reason"]] += 1

    def confirmed(self, answer: dict, call: Call, checker: Child) -> dict:
        """A crash again, in a fresh process; the target's own is not counted, nor one that does not come again."""
        if answer["arm"].startswith("target"):
            self.of_target[f"{call['op']}: {answer['detail']}"] += 1
            return {**answer, "outcome": f"target {answer['kind']}"}
        again = checker.judge(call)
        if again["outcome"] in ("crash", "hang"):
            return {**again, "outcome": f"target {again['kind']}"} if again["arm"].startswith("target") else again
        print(f"# {call['op']}: {answer['detail']}, not seen again by itself", file=sys.stderr, flush=True)
        return {**answer, "outcome": f"{answer['kind']} once"}

    def kept(self, key: tuple, answer: dict, call: Call, chosen: list, checker: Child) -> dict:
        """Makes a finding small and prints it; one that a fresh process does not show depends on memory as it was found."""
        wanted = signature(answer)
        if signature(checker.judge(mutated(call, chosen))) != wanted:
            print(f"# {call['op']}: {answer['detail']}, not seen again by itself", file=sys.stderr, flush=True)
            return {**answer, "outcome": "unsteady"}
        chosen = fewer_mutations(checker, call, chosen, wanted)
        least = simplified(checker, mutated(call, chosen), wanted)
        self.findings[key] = Finding(answer["number"], least, chosen, checker.judge(least))
        print(self.findings[key].text(self.seed), flush=True)
        return answer

    def summary(self) -> str:
        counted = ", ".join(f"{n} {name}" for name, n in self.outcomes.most_common())
        lines = [f"# {sum(self.outcomes.values())} calls of {len(self.operators)} operators: {counted}"]
        lines += [f"# known, {n} times: {reason}" for reason, n in self.known.most_common()]
        lines += [f"# unusable, {n} times: {what}" for what, n in self.unusable.most_common(10)]
        lines += [f"# the target's own, {n} times: {what}" for what, n in sorted(self.of_target.items())]
        lines += [f"# {found.times} times: {key[0]}: {found.answer['detail']}"
                  for key, found in sorted(self.findings.items(), key=lambda item: str(item[0]))]
        return "\n".join(lines)


def replayed(files: list[Path]) -> int:
    """Judges saved calls; how many differ."""
    failed = 0
    with Child() as child:
        for file in files:
            saved = json.loads(file.read_text())
            answer = child.judge(saved["call"])
            bad = answer["outcome"] in ("finding", "crash", "hang")
            failed += bad
            print(f"{file}: {answer['outcome']} {answer['detail']}")
            if bad:
                print(reproducer(saved["call"]))
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--calls", type=int, default=1 << 40)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--op", default="*", help="name, overload or glob, without aten::")
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--save", type=Path, help="a folder for the findings as JSON, for --replay and tests/fuzz/cases")
    parser.add_argument("--replay", type=Path, nargs="+", metavar="FILE")
    options = parser.parse_args()
    if options.replay:
        return 1 if replayed(options.replay) else 0
    run, started = Run(options.seed, options.corpus, options.op), time.monotonic()
    run.go(options.calls, options.minutes * 60)
    for key, found in run.findings.items() if options.save else ():
        options.save.mkdir(parents=True, exist_ok=True)
        name = f"{key[0].removeprefix('aten::')}-{key[2]}.json"
        (options.save / name).write_text(json.dumps({"found": found.answer["detail"], "call": found.call}, indent=1) + "\n")
    print(run.summary(), f"\n# {sum(run.outcomes.values()) / (time.monotonic() - started):.0f} calls a second")
    return 1 if run.findings else 0


if __name__ == "__main__":
    sys.exit(main())
