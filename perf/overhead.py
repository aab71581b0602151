"""What a flagos call adds to the native call, from Python: percent of host time, fast path on and off.

overhead.py [--target cuda|cpu] [--calls NAME ...] [--rounds N] [--json FILE]. Needs the `flagos` package. All arms run
in one process and take turns in an order drawn anew each round, so that a drifting clock or another process meets them
alike; each figure is the median over rounds of the ratio to the native arm of the same round, with its 95% interval
(order statistics of the median, the sign test turned round). Hosts differ by a factor of two in ns: compare percents.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from paired import median_interval
from torch.nn import functional

ROUNDS = 90
BATCH = 100
WARM_UP = 50
ARMS = ("native", "on", "off")


def make_calls(device: str) -> dict[str, Callable[[], object]]:
    """The calls by name, on small tensors of `device`: the host's part is what is measured."""
    generator = torch.Generator().manual_seed(0)

    def randn(*size: int) -> torch.Tensor:
        return torch.randn(*size, generator=generator).to(device)

    a, b, wide, image = randn(4, 4), randn(4, 4), randn(64, 64), randn(2, 8, 4, 4)
    rows = torch.tensor([0, 2]).to(device)
    out = torch.empty_like(a)
    return {
        "add": lambda: torch.add(a, b),
        "add_": lambda: a.add_(b, alpha=0),
        "add.out": lambda: torch.add(a, b, out=out),
        "relu": lambda: torch.relu(a),
        "mm": lambda: torch.mm(a, b),
        "view": lambda: a.view(16),
        "transpose": lambda: a.transpose(0, 1),
        "slice": lambda: a[1:],
        "cat of 4": lambda: torch.cat([a, b, a, b]),
        "empty_like": lambda: torch.empty_like(a),
        "sum": lambda: a.sum(0),
        "layer_norm": lambda: functional.layer_norm(wide, (64,)),
        "softmax": lambda: torch.softmax(wide, 1),
        "index_select": lambda: torch.index_select(a, 0, rows),
        "to(bfloat16)": lambda: a.to(torch.bfloat16),
        "clone": lambda: a.clone(),
        "group_norm": lambda: functional.group_norm(image, 2),
    }


def measure(calls: dict[str, Callable[[], object]], synchronize: Callable[[], None], rounds: int,
            redispatch: Callable[[bool], object]) -> dict[str, list[float]]:
    """ns a call of each arm, one value a round. The queue of the device is empty when a batch begins."""
    times: dict[str, list[float]] = {arm: [] for arm in ARMS}
    for number in range(rounds + 1):
        for arm in random.sample(ARMS, len(ARMS)):
            call = calls[arm]
            with redispatch(arm != "off"):
                for _ in range(WARM_UP if number == 0 else 0):
                    call()
                synchronize()
                start = time.perf_counter_ns()
                for _ in range(BATCH):
                    call()
                elapsed = time.perf_counter_ns() - start
            if number > 0:
                times[arm].append(elapsed / BATCH)
    synchronize()
    return times


def main() -> int:
    """Prints one line a call."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--target", choices=("cuda", "cpu"), help="default: what libflagos chooses")
    parser.add_argument("--calls", nargs="*", metavar="NAME", help="default: all")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"batches of {BATCH} calls an arm; default {ROUNDS}")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.rounds < 10:
        parser.error("--rounds: at least 10, for an interval")
    if options.target:
        os.environ["FLAGOS_TARGET"] = options.target
    import flagos  # reads FLAGOS_TARGET

    native, ours = make_calls(flagos.target()), make_calls("flagos")
    unknown = sorted(set(options.calls or ()) - set(native))
    if unknown:
        parser.error(f"--calls: {', '.join(unknown)}: not known; there are {', '.join(native)}")
    synchronize = torch.cuda.synchronize if flagos.target() == "cuda" else lambda: None
    print(f"{'call':<14}{'native ns':>10}   {'on: % over native':<26}{'off: % over native':<26}", flush=True)
    rows = []
    with torch.no_grad():
        for name in options.calls or native:
            arms = {"native": native[name], "on": ours[name], "off": ours[name]}
            times = measure(arms, synchronize, options.rounds, flagos.redispatch)
            base = times["native"]
            row = {"call": name, "native_ns": statistics.median(base)}
            for arm in ("on", "off"):
                row[arm] = median_interval([100 * (x / y - 1) for x, y in zip(times[arm], base, strict=True)])
            rows.append(row)
            cells = "".join(f"{'{:+.1f} [{:+.1f}, {:+.1f}]'.format(*row[arm]):<26}" for arm in ("on", "off"))
            print(f"{name:<14}{row['native_ns']:>10.0f}   {cells}".rstrip(), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
