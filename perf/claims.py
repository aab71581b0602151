"""How often ab-bench claims what isn't so, and finds what is: claims.py FLAGOS_DIAG [RUNS] [OP].

RUNS runs (100) in which off is the same as on: every claim but SAME is false. A tenth as many in which on is slowed by
3%: each should say SLOWER. Prints both counts; exit 1 when more than one in a hundred of the first, or fewer than nine in
ten of the second, are so.
"""

from __future__ import annotations

import json
import subprocess
import sys

SECONDS = 1.5  # a run measures for


def verdict(program: str, op: str, seed: int, *arguments: str) -> str:
    """What is said of on against off."""
    command = [program, "ab-bench", op, "--call", "0", "--same-arms", "--time-budget", str(SECONDS), "--seed", str(seed),
               "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if not done.stdout:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    rows = json.loads(done.stdout)["results"]
    return next(row["verdict"] for row in rows if (row["arm"], row["against"]) == ("on", "off"))


def count(verdicts: list[str]) -> dict[str, int]:
    return {name: verdicts.count(name) for name in ("SAME", "INCONCLUSIVE", "FASTER", "SLOWER")}


def main() -> int:
    program = sys.argv[1]
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    op = sys.argv[3] if len(sys.argv) > 3 else "add_.Tensor"
    same = count([verdict(program, op, seed) for seed in range(runs)])
    print(f"{op}, the same arms, {runs} runs: {same}", flush=True)
    slowed = count([verdict(program, op, seed, "--plant", "on=3%") for seed in range(max(runs // 10, 1))])
    print(f"{op}, 3% slower, {max(runs // 10, 1)} runs: {slowed}")
    false_claims = same["FASTER"] + same["SLOWER"]
    return int(false_claims > runs / 100 or slowed["SLOWER"] < 0.9 * sum(slowed.values()))


if __name__ == "__main__":
    sys.exit(main())
