"""The documentation's site builds without a warning, and holds what it says it is made of.

site_test.py TOOL: the flagos-diag whose manual becomes a page.
"""

from __future__ import annotations

import html
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from types import ModuleType

import flagos
import flagos.device

ROOT = Path(__file__).resolve().parents[2]
TOOL = sys.argv[1] if len(sys.argv) > 1 else str(ROOT / "build" / "tool" / "flagos-diag")
MISSING = [name for name in ("mkdocs", "material", "mkdocstrings") if importlib.util.find_spec(name) is None]
PARTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "mkdocs.yml", "docs", "python", "lib/include")


def build(source: Path, site: str, **environment: str) -> subprocess.CompletedProcess[str]:
    variables = {**os.environ, "FLAGOS_DIAG": TOOL, "NO_MKDOCS_2_WARNING": "1", **environment}
    # Not with -q, under which --strict sees no warning.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(source / "mkdocs.yml"), "-d", site]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@unittest.skipIf(MISSING, "needs mkdocs-material and mkdocstrings: pip install -r requirements.txt")
class SiteTest(unittest.TestCase):
    site: Path
    done: subprocess.CompletedProcess[str]

    @classmethod
    def setUpClass(cls) -> None:
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.site = Path(folder.name)
        cls.done = build(ROOT, folder.name)

    def text(self, page: str) -> str:
        content = (self.site / page / "index.html").read_text(encoding="utf-8")
        return html.unescape(re.sub(r"<[^>]+>", "", content))

    def test_builds_without_a_warning(self) -> None:
        self.assertEqual(self.done.returncode, 0, self.done.stderr)
        self.assertNotRegex(self.done.stderr, "WARNING|ERROR")
        self.assertIn("Documentation built", self.done.stderr)

    def test_the_manual_has_every_command(self) -> None:
        said = subprocess.run([TOOL, "--help"], capture_output=True, text=True, check=True).stdout
        commands = re.findall(r"(?m)^  ([a-z-]+) {2,}\S", said.partition("Subcommands:")[2].partition("Examples:")[0])
        self.assertGreater(len(commands), 8)
        headings = re.findall(r'<h3 id="([\w-]+)"', (self.site / "manual" / "index.html").read_text(encoding="utf-8"))
        self.assertEqual(set(commands) - set(headings), set())

    def test_the_python_page_has_every_public_name(self) -> None:
        page = (self.site / "python-api" / "index.html").read_text(encoding="utf-8")
        for module in (flagos, flagos.device):
            names = [name for name in module.__all__ if not isinstance(getattr(module, name), ModuleType)]
            self.assertGreater(len(names), 8)
            missing = {name for name in names if not re.search(rf'id="flagos\.[\w.]*\b{name}"', page)}
            self.assertEqual(missing, set(), module.__name__)

    def test_the_cpp_page_has_every_exported_function(self) -> None:
        page = self.text("cpp-api")
        headers = set((ROOT / "lib" / "include" / "flagos").glob("*.h"))
        for header in headers - {ROOT / "lib" / "include" / "flagos" / "export.h"}:  # the macro alone
            for name in re.findall(r"FLAGOS_API[^;(]*?(\w+)\(", header.read_text(encoding="utf-8")):
                self.assertIn(f"{name}(", page, header.name)

    def test_every_reason_code_has_its_row(self) -> None:
        header = (ROOT / "lib" / "include" / "flagos" / "redispatch.h").read_text(encoding="utf-8")
        for code in re.findall(r"// (FP-[A-Z]+)", header):
            self.assertIn(code, self.text("reasons"))


@unittest.skipIf(MISSING, "needs mkdocs-material and mkdocstrings: pip install -r requirements.txt")
class BrokenSiteTest(unittest.TestCase):
    """What is wrong is refused: a link, a section of README.md that is gone, a tool that is not there."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.source = Path(folder.name) / "source"
        for part in PARTS:
            copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
            (self.source / part).parent.mkdir(parents=True, exist_ok=True)
            copy(ROOT / part, self.source / part)
        self.site = str(Path(folder.name) / "site")

    def refused(self, pattern: str, **environment: str) -> None:
        done = build(self.source, self.site, **environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertRegex(done.stdout + done.stderr, pattern)

    def test_a_link_to_nowhere(self) -> None:
        with open(self.source / "docs" / "faq.md", "a", encoding="utf-8") as page:
            page.write("\n[gone](gone.md)\n")
        self.refused("'gone.md'")

    def test_a_link_to_no_heading(self) -> None:
        with open(self.source / "docs" / "faq.md", "a", encoding="utf-8") as page:
            page.write("\n[gone](python.md#gone)\n")
        self.refused("python.md#gone")

    def test_a_section_that_is_gone(self) -> None:
        readme = self.source / "README.md"
        readme.write_text(readme.read_text(encoding="utf-8").replace("## Limits", "## Bounds"), encoding="utf-8")
        self.refused(r"README.md has no section \['Limits'\]")

    def test_a_tool_that_is_not_there(self) -> None:
        self.refused("/nonexistent is not there; build it with ./start", FLAGOS_DIAG="/nonexistent")


if __name__ == "__main__":
    unittest.main()
