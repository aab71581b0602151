"""Hugging Face's accelerate and Trainer choose flagos when told to, and train a tiny model as on the target, bit for bit.

Each arm is a process of its own (trainer_arm.py). Skipped where transformers or accelerate is not installed.
"""

from __future__ import annotations

import functools
import importlib.util
import unittest
from typing import Any

import flagos
from arm_process import run_arm

NATIVE = flagos.target()
RUNS = ("accelerate", "accelerate bf16", "trainer", "trainer, accumulated")
MISSING = [name for name in ("transformers", "accelerate") if importlib.util.find_spec(name) is None]


@functools.cache
def native() -> dict[str, dict[str, Any]]:
    return run_arm("trainer_arm.py", NATIVE, FLAGOS_DISABLE="1")


@functools.cache
def on_flagos() -> dict[str, dict[str, Any]]:
    return run_arm("trainer_arm.py", "flagos", ACCELERATE_TORCH_DEVICE="flagos", FLAGOS_FALLBACK="error")


@unittest.skipIf(MISSING, f"needs {' and '.join(MISSING)}: pip install {' '.join(MISSING)}")
class Trainers(unittest.TestCase):
    def check(self, run: str) -> None:
        expected, got = native()[run], on_flagos()[run]
        self.assertEqual((expected["device"], got["device"]), (NATIVE, "flagos"))
        self.assertEqual(got["results"], expected["results"])
        self.assertGreater(len(got["results"]["losses"]), 1)
        self.assertGreater(got["hits"], 100)

    def test_accelerate(self):
        self.check("accelerate")

    def test_trainer(self):
        self.check("trainer")

    def test_accelerate_in_bfloat16(self):
        self.check("accelerate bf16")

    def test_trainer_with_accumulated_gradients_and_checkpoints(self):
        self.check("trainer, accumulated")

    def test_every_run_is_compared(self):
        self.assertEqual((tuple(native()), tuple(on_flagos())), (RUNS, RUNS))

    def test_an_epoch_changes_the_model(self):
        parameters = {run: made["results"]["parameters"] for run, made in native().items()}
        self.assertEqual(len(set(parameters.values())), len(RUNS))


if __name__ == "__main__":
    unittest.main()
