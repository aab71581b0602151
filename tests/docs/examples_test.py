"""Every example of README.md, CONTRIBUTING.md and docs/ runs, or says why a test can't run it.

examples_test.py TOOL: the flagos-diag that console blocks call.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import flagos
from fences import Example, examples

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
EXAMPLES = [example for page in PAGES for example in examples(page)]
RUN = ("python", "console", "cpp")
SHOWN = ("mermaid", "meson")  # no programs
TOOL = Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT / "build" / "tool" / "flagos-diag"


def run(command: list[str], folder: str, **environment: str) -> subprocess.CompletedProcess[str]:
    path = f"{TOOL.parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path, **environment}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


class ExamplesTest(unittest.TestCase):
    def passes(self, example: Example, done: subprocess.CompletedProcess[str]) -> None:
        allowed = [int(each) for each in example.notes.get("exit", "0").split()]
        self.assertIn(done.returncode, allowed, f"{example.name}\n{done.stdout[-2000:]}{done.stderr[-4000:]}")

    def run_python(self, example: Example) -> None:
        code = f"{example.notes.get('before', '')}\n{example.code}"
        with tempfile.TemporaryDirectory() as folder:
            program = Path(folder) / "example.py"  # a file, since torch.compile reads the source
            program.write_text(code, encoding="utf-8")
            self.passes(example, run([sys.executable, str(program)], folder))

    def run_console(self, example: Example) -> None:
        for command in example.commands():
            command = command.replace("build/tool/flagos-diag", str(TOOL))
            self.passes(example, run(["bash", "-c", command], str(ROOT)))


class ParserTest(unittest.TestCase):
    def parse(self, text: str) -> list[Example]:
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(text, encoding="utf-8")
            return examples(page)

    def test_notes_belong_to_the_next_fence_alone(self) -> None:
        first, second = self.parse(
            "<!-- before: a = 1\nb = 2 -->\n<!-- needs: cuda -->\n```python\na + b\n```\ntext\n"
            "```console\n$ ls  # x\n```\n"
        )
        self.assertEqual(first.notes, {"before": "a = 1\nb = 2", "needs": "cuda"})
        self.assertEqual((first.code, first.line, second.line), ("a + b\n", 4, 8))
        self.assertEqual((second.notes, second.commands()), ({}, ["ls  # x"]))

    def test_a_console_block_has_a_prompt(self) -> None:
        (block,) = self.parse("```console\nls\n```\n")
        with self.assertRaisesRegex(ValueError, "page.md:1"):
            block.commands()

    def test_every_fence_is_of_a_known_language(self) -> None:
        for example in EXAMPLES:
            self.assertIn(example.language, RUN + SHOWN, example.name)

    def test_cpp_is_left_to_the_consumer_test(self) -> None:
        cpp = [example for example in EXAMPLES if example.language == "cpp"]
        self.assertTrue(all("not run" in example.notes for example in cpp))

    def test_there_are_examples_that_run(self) -> None:
        for language in ("python", "console"):
            self.assertGreater(sum(e.language == language and "not run" not in e.notes for e in EXAMPLES), 0, language)


def _case(example: Example):  # type: ignore[no-untyped-def]
    def test(self: ExamplesTest) -> None:
        if "not run" in example.notes:
            self.assertTrue(example.notes["not run"], "a reason is missing")
            self.skipTest(example.notes["not run"])
        needed = example.notes.get("needs")
        if needed not in (None, flagos.target()):
            self.skipTest(f"needs the target {needed}")
        getattr(self, f"run_{example.language}")(example)

    return test


for _example in EXAMPLES:
    if _example.language in RUN:
        setattr(ExamplesTest, f"test_{_example.file.stem}_{_example.line}", _case(_example))


if __name__ == "__main__":
    unittest.main()
