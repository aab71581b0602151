"""One rank of distributed_test.py: runs scenarios over gloo and writes what came out to FOLDER/RANK.json.

distributed_arm.py DEVICE RANK WORLD FOLDER BACKEND SCENARIO...: DEVICE is "cpu" or "flagos"; BACKEND is what
init_process_group is given, "" for nothing. A scenario that fails is reported by its error and ends the run.
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import time
import traceback

import torch
import torch.distributed as dist

import distributed_collectives  # noqa: F401: its scenarios
import distributed_training  # noqa: F401: its scenarios
from distributed_rank import BACKEND, DEVICE, FOLDER, RANK, SCENARIOS, SEEN, WORLD, mine, scenario


@scenario
def mixed() -> None:
    """For flagos alone: mixed devices, and the backend that serves flagos."""
    group, outputs = dist.group.WORLD, [torch.empty(3) for _ in range(WORLD)]
    try:
        dist.all_gather(outputs, mine(3))
    except RuntimeError as error:
        SEEN["error"] = str(error).splitlines()[0]
    backend = group._get_backend(torch.device(DEVICE))
    SEEN["backend"], SEEN["same"] = backend.name(), backend is group._get_backend(torch.device("cpu"))
    SEEN["default"] = dist.get_default_backend_for_device(DEVICE)


@scenario
def killed() -> None:
    """Rank 1 dies; the others must notice."""
    started = time.monotonic()
    try:
        dist.barrier()  # all have connected
        if RANK == 1:
            os._exit(9)
        for _ in range(1000):
            dist.all_reduce(mine(1000))
    except RuntimeError as error:
        SEEN["error"] = str(error).splitlines()[0]
    SEEN["seconds"] = time.monotonic() - started


def main() -> None:
    """Runs the scenarios."""

    torch.set_num_threads(1)
    dist.init_process_group(BACKEND or None, store=dist.FileStore(str(FOLDER / "store"), WORLD), rank=RANK,
                            world_size=WORLD, timeout=datetime.timedelta(seconds=30))
    results = {}
    for name in sys.argv[6:]:
        SEEN.clear()
        try:
            SCENARIOS[name]()
        except Exception:
            SEEN["failed"] = traceback.format_exc()[-1500:]
        results[name] = dict(SEEN)
        if "failed" in SEEN:  # the other ranks wait for this one: none goes on from here
            break
    (FOLDER / f"{RANK}.json").write_text(json.dumps(results))
    if "killed" not in results and "failed" not in SEEN:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
