"""A worker of opinfo_sweep.py: reads an operator a line, {"op": id, "skip": [entries]}, and answers in lines of JSON.

{"start": entry, "arm": name} before each call, {"entry": name, "verdict": ..., "said": text} after an entry and
{"done": id} after an operator. Verdicts: equal, differs, nondeterministic (the target differs from itself), none (no
samples).
"""

from __future__ import annotations

import fnmatch
import itertools
import json
import os
import sys
import warnings
from typing import Any, Callable, Iterator

import torch

import flagos
from torch.testing._internal import common_methods_invocations as infos

from sweep_calls import call
from sweep_kinds import BY_ENGINE, error_kinds, kinds
from sweep_observed import TARGET, difference

FOREACH = [db for name in ("unary", "binary", "pointwise", "reduce", "other")
           for db in getattr(infos, f"foreach_{name}_op_db")]
OPS = [*infos.op_db, *FOREACH]
SEEN = 24  # samples looked at, of which some are taken evenly


def name_of(op: Any) -> str:
    """The entry's name."""
    return op.name + (f".{op.variant_test_name}" if op.variant_test_name else "")


def _arm(name: str, op: Any, kind: Callable, sample: Any) -> Any:
    flagos.set_redispatch_enabled(name == "on")
    return call(kind, op, sample, TARGET if name == "native" else "flagos")


def _judge(entry: str, op: Any, kind: Callable, samples: list, say: Callable) -> tuple[str, str]:
    """Verdict of an entry and the first difference."""
    for number, sample in enumerate(samples):
        say({"start": entry, "arm": "native"})
        native = _arm("native", op, kind, sample)
        for arm in ("on", "off"):
            say({"start": entry, "arm": arm})
            said = difference(native, _arm(arm, op, kind, sample))
            if said and _nondeterministic(op, kind, sample, native):
                return "nondeterministic", said
            if said:
                return "differs", f"sample {number}, {arm}: {said}"
    return "equal", ""


def _nondeterministic(op: Any, kind: Callable, sample: Any, first: Any) -> bool:
    """Whether the target differs from itself: results may depend on how memory is aligned, or on what was in it."""
    held = []
    for size in range(1, 400, 20):
        held.append(torch.full((size,), float(size)))
        if difference(first, _arm("native", op, kind, sample)):
            return True
    return False


def _taken(make: Callable, count: int) -> list:
    try:
        found = list(itertools.islice(make(), SEEN))
    except Exception:  # noqa: BLE001: PyTorch has no samples of this kind
        return []
    return [found[i * len(found) // count] for i in range(count)] if len(found) > count else found


def _entries(op: Any, foreach: bool) -> Iterator[tuple[str, Callable, Callable]]:
    for dtype in sorted(op.supported_dtypes("cpu") & op.supported_dtypes(TARGET), key=str):
        for kind, way, make in kinds(op, dtype, foreach):
            if TARGET == "cuda" and way in BY_ENGINE:
                continue
            yield f"{name_of(op)} {str(dtype).removeprefix('torch.')} {kind}", way, make
    for kind, way, make in error_kinds(op):
        yield f"{name_of(op)} {kind}", way, make


def main() -> None:
    """Reads operators from stdin until it ends. argv: samples an entry, kinds of call as a shell pattern."""
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    leaf = torch.ones((), requires_grad=True)
    for _ in range(200_000):  # each takes a number; see sweep_calls.py
        leaf.view(())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what operators print

    def say(line: dict) -> None:
        answers.write(json.dumps(line) + "\n")
        answers.flush()

    for line in sys.stdin:
        task = json.loads(line)
        op = OPS[task["op"]]
        for entry, way, make in _entries(op, task["op"] >= len(infos.op_db)):
            if entry in task["skip"] or not fnmatch.fnmatchcase(entry, f"*{sys.argv[2]}"):
                continue
            say({"start": entry, "arm": "samples"})
            samples = _taken(make, int(sys.argv[1]))
            verdict, said = _judge(entry, op, way, samples, say) if samples else ("none", "")
            say({"entry": entry, "verdict": verdict, "said": said})
        say({"done": task["op"]})


if __name__ == "__main__":
    main()
