"""torch.distributed on flagos tensors against CPU tensors, over gloo, in 2 to 4 processes: equal bit for bit.

The CPU is the target whatever the machine has: NCCL takes a device for each rank.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

ARM = Path(__file__).with_name("distributed_arm.py")
SECONDS = 120  # for one set of processes
COLLECTIVES = ("reductions", "movements", "errors", "groups", "objects", "messages", "asynchronous", "sparse",
               "functional", "dtensor")
TRAINING = ("ddp", "fsdp", "checkpoint")


def environment(device: str) -> dict[str, str]:
    own = {"FLAGOS_DISABLE": "1"} if device == "cpu" else {"FLAGOS_TARGET": "cpu"}
    return {**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", **own}


def run(device: str, world: int, backend: str, *scenarios: str, dies: int | None = None) -> dict[int, dict[str, Any]]:
    """What each rank saw, scenario by scenario. Raises with the ranks' own words when one fails; ends all of them."""
    with tempfile.TemporaryDirectory() as folder:
        logs = [open(f"{folder}/{rank}.log", "w+", encoding="utf-8") for rank in range(world)]
        ranks = [
            subprocess.Popen([sys.executable, ARM, device, str(rank), str(world), folder, backend, *scenarios],
                             env=environment(device), stdout=log, stderr=log)
            for rank, log in enumerate(logs)
        ]
        deadline = time.monotonic() + SECONDS
        try:
            failed = [rank for rank, process in enumerate(ranks)
                      if process.wait(max(0.1, deadline - time.monotonic())) != 0 and rank != dies]
        except subprocess.TimeoutExpired:
            failed = [rank for rank, process in enumerate(ranks) if process.poll() is None]
        finally:
            for process in ranks:
                process.kill()
                process.wait()
        said = {rank: Path(log.name).read_text(encoding="utf-8")[-1500:] for rank, log in enumerate(logs)}
        for log in logs:
            log.close()
        if failed:
            words = [f"{device}, rank {rank}, failed or too slow:\n{said[rank]}" for rank in failed]
            raise AssertionError("\n".join(words))
        return {rank: json.loads(Path(folder, f"{rank}.json").read_text()) for rank in range(world) if rank != dies}


@functools.cache
def native(world: int) -> dict[int, dict[str, Any]]:
    """What CPU tensors give."""
    return run("cpu", world, "gloo", *(COLLECTIVES + TRAINING if world == 2 else COLLECTIVES))


@functools.cache
def flagos_pair() -> dict[int, dict[str, Any]]:
    """What flagos tensors give, in two processes."""
    return run("flagos", 2, "gloo", "mixed", *COLLECTIVES, *TRAINING)


class Distributed(unittest.TestCase):
    maxDiff = None

    def compare(self, got: dict[int, dict[str, Any]], scenarios: tuple[str, ...]) -> None:
        for rank, expected in native(len(got)).items():
            for scenario in scenarios:
                with self.subTest(scenario, rank=rank):
                    self.assertTrue(expected[scenario])
                    self.assertNotIn("failed", expected[scenario])
                    self.assertEqual(got[rank].get(scenario, "not reached"), expected[scenario])

    def test_collectives_of_two(self):
        self.compare(flagos_pair(), COLLECTIVES)

    def test_training(self):
        self.compare(flagos_pair(), TRAINING)

    def test_collectives_of_four_by_default(self):
        self.compare(run("flagos", 4, "", *COLLECTIVES), COLLECTIVES)

    def test_backend_named_for_a_device(self):
        scenarios = ("groups", "asynchronous")
        for backend in ("cpu:gloo", "cpu:gloo,flagos:gloo"):
            with self.subTest(backend):
                self.compare(run("flagos", 2, backend, *scenarios), scenarios)

    def test_flagos_alone(self):
        """What has no counterpart on the CPU: mixed devices, the backend that serves flagos."""
        error = "Expected all tensors to be on the same device, but found at least two devices, flagos and cpu!"
        for seen in flagos_pair().values():
            self.assertEqual(seen["mixed"], {"backend": "gloo", "same": True, "default": "gloo", "error": error})

    def test_a_dead_rank_ends_the_others(self):
        for rank, seen in run("flagos", 3, "gloo", "killed", dies=1).items():
            with self.subTest(rank=rank):
                self.assertRegex(seen["killed"]["error"], "(?i)connection (closed|reset)|timed out")
                self.assertLess(seen["killed"]["seconds"], 40)

    def test_importing_says_nothing(self):
        done = subprocess.run([sys.executable, "-c", "import flagos"], env=environment("flagos"), capture_output=True,
                              text=True, timeout=60, check=True)
        self.assertEqual(done.stdout + done.stderr, "")


if __name__ == "__main__":
    unittest.main()
