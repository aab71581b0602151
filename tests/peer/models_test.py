"""Stock transformers and diffusers models on flagos, ON and OFF, against the target: equal bit for bit, and ON is fast.

Each arm is a process of its own (models.py), where an operator that would fall back to the CPU is an error. Skipped
where transformers or diffusers is not installed.
"""

from __future__ import annotations

import functools
import importlib.util
import unittest
from typing import Any

import flagos
from arm_process import run_arm

NATIVE = flagos.target()
# As in training_test.py.
KNOWN = {"cuda": {"lstm"}}.get(NATIVE, set())
LEAST_SHARE_ON_THE_FAST_PATH = 0.95
MISSING = [name for name in ("transformers", "diffusers") if importlib.util.find_spec(name) is None]


@functools.cache
def native() -> dict[str, dict[str, Any]]:
    return run_arm("models.py", NATIVE, FLAGOS_DISABLE="1")


@functools.cache
def on() -> dict[str, dict[str, Any]]:
    return run_arm("models.py", "flagos", FLAGOS_FALLBACK="error", FLAGOS_NO_REDISPATCH="0")


@functools.cache
def off() -> dict[str, dict[str, Any]]:
    return run_arm("models.py", "flagos", FLAGOS_FALLBACK="error", FLAGOS_NO_REDISPATCH="1")


def hits_and_refusals(counters: dict[str, Any]) -> tuple[int, dict[str, int]]:
    """Of all operators: calls on the fast path, and the others by operator and reason."""
    refused = {
        f"{op} {reason}": count for op, counts in counters.items() for reason, count in counts["refused"].items()
    }
    return sum(counts["hits"] for counts in counters.values()), refused


@unittest.skipIf(MISSING, f"needs {' and '.join(MISSING)}; requirements.txt has the versions")
class Models(unittest.TestCase):
    def compare(self, got: dict[str, dict[str, Any]]) -> None:
        self.assertEqual(got.keys(), native().keys())
        for model, expected in native().items():
            with self.subTest(model):
                if model in KNOWN:
                    self.assertNotEqual(got[model]["results"], expected["results"], "equal, though listed as unequal")
                else:
                    self.assertEqual(got[model]["results"], expected["results"])

    def test_on(self):
        self.compare(on())

    def test_off(self):
        self.compare(off())

    def test_on_takes_the_fast_path(self):
        for model, ran in on().items():
            with self.subTest(model):
                hits, refused = hits_and_refusals(ran["counters"])
                self.assertGreater(hits, 100)
                self.assertGreaterEqual(hits / (hits + sum(refused.values())), LEAST_SHARE_ON_THE_FAST_PATH, refused)

    def test_off_never_does(self):
        for model, ran in off().items():
            with self.subTest(model):
                hits, refused = hits_and_refusals(ran["counters"])
                self.assertEqual(hits, 0)
                self.assertEqual({text.split()[1] for text in refused}, {"FP-OFF"})


if __name__ == "__main__":
    unittest.main()
