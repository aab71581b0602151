"""What libflagos costs before and beside the calls: load time, first calls, resident memory of a process and a tensor.

load.py [--target cuda|cpu] [--runs N] [--json FILE]. Needs the `flagos` package. Every figure comes from processes of
its own, native and flagos by turns; printed are medians over the runs.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

TENSORS = 20_000

# One process: prints what it measured as JSON. ARM is native or flagos.
PROCESS = """
import json, os, sys, time

def resident():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")

arm, target, tensors = sys.argv[1], sys.argv[2], int(sys.argv[3])
import torch
before, started = resident(), time.perf_counter_ns()
if arm == "flagos":
    os.environ["FLAGOS_TARGET"] = target
    import flagos
loaded = time.perf_counter_ns() - started
device = "flagos" if arm == "flagos" else target
if target == "cuda":
    torch.cuda.init()
result = {"load_ms": loaded / 1e6, "load_mib": (resident() - before) / 2**20}
x = torch.ones(8, 8).to(device)
synchronize = torch.cuda.synchronize if target == "cuda" else lambda: None
synchronize()
first = 0
calls = [lambda: x + x, lambda: x @ x, lambda: x.sum(), lambda: torch.cat([x, x]), lambda: x.view(64), lambda: x.clone(),
         lambda: torch.softmax(x, 1), lambda: torch.nn.functional.layer_norm(x, (8,)), lambda: x.exp(), lambda: x.mul_(1)]
for call in calls:
    times = []
    for _ in range(20):
        started = time.perf_counter_ns()
        call()
        times.append(time.perf_counter_ns() - started)
        synchronize()
    first += times[0] - sorted(times[1:])[9]
result["first_calls_us"] = first / 1e3 / len(calls)
kept = [x + x for _ in range(100)]
before = resident()
kept += [x[:1] for _ in range(tensors)]
result["tensor_bytes"] = (resident() - before) / tensors
print(json.dumps(result))
"""

FIGURES = {
    "load_ms": "import flagos, after import torch, ms",
    "load_mib": "resident memory by that, MiB",
    "first_calls_us": "first call of an operator over a later one, mean of 10, us",
    "tensor_bytes": "resident memory of a tensor (view, Python object), bytes",
}


def process(arm: str, target: str) -> dict[str, float]:
    """What one process measured."""
    environment = dict(os.environ)
    environment.pop("FLAGOS_DISABLE", None)
    if arm == "native":
        environment["FLAGOS_DISABLE"] = "1"
    done = subprocess.run([sys.executable, "-c", PROCESS, arm, target, str(TENSORS)], env=environment, text=True,
                          capture_output=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"load.py: the {arm} process failed:\n{done.stderr[-2000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def main() -> int:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--target", choices=("cuda", "cpu"), default="cpu")
    parser.add_argument("--runs", type=int, default=7, help="processes an arm; default 7")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.runs < 1:
        parser.error("--runs: at least 1")
    measured: dict[str, list[dict[str, float]]] = {"native": [], "flagos": []}
    for _ in range(options.runs):
        for arm, results in measured.items():
            results.append(process(arm, options.target))
    rows = {name: {arm: statistics.median(result[name] for result in results) for arm, results in measured.items()}
            for name in FIGURES}
    print(f"{'':<60}{'native':>10}{'flagos':>10}")
    for name, row in rows.items():
        print(f"{FIGURES[name]:<60}{row['native']:>10.2f}{row['flagos']:>10.2f}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
