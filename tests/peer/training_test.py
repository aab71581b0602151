"""Small models trained on flagos, ON and OFF, and on the target, each arm in a process of its own: equal bit for bit."""

from __future__ import annotations

import unittest

import flagos
from arm_process import run_arm

NATIVE = flagos.target()


def arm(device: str, **variables: str) -> dict[str, str]:
    """Digests of one arm."""
    return run_arm("training_arm.py", device, **variables)


class Training(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.native = arm(NATIVE, FLAGOS_DISABLE="1")

    def compare(self, got: dict[str, str]) -> None:
        for model, expected in self.native.items():
            with self.subTest(model):
                self.assertEqual(got[model], expected)

    def test_native_repeats_itself(self):
        self.assertEqual(self.native, arm(NATIVE, FLAGOS_DISABLE="1"))

    def test_on(self):
        self.compare(arm("flagos"))

    def test_off(self):
        self.compare(arm("flagos", FLAGOS_NO_REDISPATCH="1"))


if __name__ == "__main__":
    unittest.main()
