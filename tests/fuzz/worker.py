"""The child that makes the calls: reads one JSON request a line, writes one JSON answer a line.

worker.py PROGRESS: PROGRESS is a file of 16 bytes into which the number of the call and of its arm are written before each
starts, so that the parent can tell what a crash belongs to.
A request is {"calls": [...]} or {"seed": s, "start": i, "stop": k, "corpus": path, "op": glob}; an answer {"number": n,
...judged}, and {"done": true} at the end.
"""

from __future__ import annotations

import json
import mmap
import os
import random
import resource
import struct
import sys
import warnings
from pathlib import Path
from typing import Any, Iterator

import torch

from call_source import Call
from compare import judged
from mutations import drawn, is_small, mutated
from seeds import NotACall, Seeds

_MEMORY = 3 << 30  # on top of what importing takes: absurd sizes fail in every arm, and at once


def drawn_call(seeds: Seeds, seed: int, number: int) -> tuple[Call, list] | None:
    """Call `number` of seed `seed` without its mutations, and those; None where the draw is no call."""
    rng = random.Random(f"{seed}:{number}")
    try:
        return seeds.draw(rng), drawn(rng)
    except (NotACall, AttributeError):
        return None


def requested(request: dict[str, Any], cache: dict[tuple, Seeds]) -> Iterator[tuple[int, Call]]:
    if "calls" in request:
        yield from enumerate(request["calls"])
        return
    key = (request["corpus"], request["op"])
    if key not in cache:
        cache[key] = Seeds(Path(request["corpus"]), request["op"])
    for number in range(request["start"], request["stop"]):
        found = drawn_call(cache[key], request["seed"], number)
        if found is not None:
            call = mutated(*found)
            if is_small(call):
                yield number, call


def _answer(number: int, call: Call, progress: mmap.mmap) -> dict:
    def enter(arm: int) -> None:
        progress[:] = struct.pack("<qq", number, arm)

    try:
        return {"number": number, "op": call["op"], **judged(call, enter)}
    except Exception as error:  # noqa: BLE001: a tensor that can't be looked at; counted, and its text is in the answer
        return {"number": number, "op": call["op"], "outcome": "unusable", "kind": type(error).__name__, "detail": str(error)}


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what operators print
    warnings.filterwarnings("ignore")
    torch.set_num_threads(1)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, used + _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 16) as progress:
        cache: dict[tuple, Seeds] = {}
        for line in sys.stdin:
            for number, call in requested(json.loads(line), cache):
                print(json.dumps(_answer(number, call, progress), default=str), file=answers, flush=True)
            print('{"done": true}', file=answers, flush=True)


if __name__ == "__main__":
    main()
