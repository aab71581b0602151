"""Instructions that a flagos call costs over the native call, counted by callgrind on the CPU target.

instructions.py PROGRAM [--calls NAME ...] [--json FILE]. Counts repeat from run to run to within a few instructions,
except that malloc's own pattern moves calls that allocate; MALLOC settings below keep that small. Needs valgrind.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPETITIONS = 1000
DEFAULT_CALLS = ["add_", "add.out", "add", "view", "transpose", "slice", "cat of 4", "mm", "empty", "softmax",
                 "layer_norm", "clone", "to(double)"]


def count(program: Path, call: str, arm: str) -> float:
    """Instructions a call."""
    with tempfile.TemporaryDirectory() as directory:
        out = Path(directory) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={out}", str(program), call,
                   arm, str(REPETITIONS)]
        environment = {**os.environ, "FLAGOS_TARGET": "cpu", "GLIBC_TUNABLES": "glibc.malloc.tcache_count=7"}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-2000:]}")
        totals = re.findall(r"^(?:totals|summary): (\d+)", out.read_text(encoding="utf-8"), re.MULTILINE)
        return int(totals[-1]) / REPETITIONS


def main() -> int:
    """Prints one line a call: native, and what ON and OFF add."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--calls", nargs="*", default=DEFAULT_CALLS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if shutil.which("valgrind") is None:
        print("instructions.py: valgrind is not installed (apt-get install valgrind)", file=sys.stderr)
        return 77
    rows = []
    print(f"{'call':<22}{'native':>9}{'ON':>8}{'OFF':>8}   instructions a call; ON and OFF over native", flush=True)
    for call in options.calls:
        native, on, off = (count(options.program, call, arm) for arm in ("native", "on", "off"))
        rows.append({"call": call, "native": native, "on": on, "off": off})
        print(f"{call:<22}{native:>9.0f}{on - native:>+8.0f}{off - native:>+8.0f}", flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
