"""The soak's short form, and that it finds what grows.

soak_test.py PROGRAM: `PROGRAM --calls 1000000` is the long form.
"""

from __future__ import annotations

import subprocess
import sys
import unittest


def soak(*arguments: str) -> tuple[int, str]:
    """Exit status and output; what went wrong, the program writes to stderr."""
    done = subprocess.run([sys.argv[1], *arguments], capture_output=True, text=True, timeout=500, check=False)
    return done.returncode, done.stdout + done.stderr


class Soak(unittest.TestCase):
    def test_nothing_grows(self) -> None:
        status, output = soak("--calls", "50000")
        self.assertEqual(status, 0, output)
        print("".join(f"# {line}\n" for line in output.splitlines()), end="")

    def found(self, plant: str, gauge: str) -> None:
        status, output = soak("--calls", "8000", "--only", "add", "--plant", plant)
        self.assertEqual(status, 1, output)
        self.assertIn(gauge, [line[:30].strip() for line in output.splitlines() if line.endswith("GROWS")], output)

    def test_heap_is_found(self) -> None:
        self.found("heap", "heap")

    def test_block_is_found(self) -> None:
        self.found("block", "blocks of the CPU allocator")

    def test_descriptor_is_found(self) -> None:
        self.found("descriptor", "file descriptors")

    def test_thread_is_found(self) -> None:
        self.found("thread", "threads")

    def test_alias_is_found(self) -> None:
        self.found("alias", "aliases in pools")

    def test_wrong_arguments(self) -> None:
        for arguments in (["--calls"], ["--calls", "many"], ["--calls", "7"], ["--plant", "tree"], ["--only", "tree"]):
            status, output = soak(*arguments)
            self.assertEqual(status, 2, arguments)
            self.assertTrue(output.startswith("soak-calls: "), output)
