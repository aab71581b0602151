"""The page of `flagos-diag report` in a real browser, at desktop and phone width, light and dark.

Called as: report_browser_test.py FLAGOS_DIAG. Skips where there is no Chromium or no plotly.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import browser

PROGRAM = os.path.abspath(sys.argv[1])
WINDOWS = {"desktop": (1280, 900), "phone": (390, 844)}
RUNS = (("ab-bench", "add.Tensor", "mm", "--time-budget", "2"), ("check-op", "mm", "view"),
        ("verify", "kron.out", "--case", "empty"))


def brightness(color: str) -> float:
    """Of "rgb(r, g, b)", 0 to 255."""
    return sum(map(int, re.findall(r"\d+", color)[:3])) / 3


@unittest.skipUnless(browser.PROGRAM, "no Chromium (apt-get install chromium)")
@unittest.skipUnless(importlib.util.find_spec("plotly"), "plotly is not installed")
class InABrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.folder = tempfile.TemporaryDirectory(prefix="flagos-report-")
        cls.addClassCleanup(cls.folder.cleanup)
        folder = Path(cls.folder.name)
        files = []
        for command in RUNS:
            files.append(str(folder / f"{command[0]}.json"))
            cls.run_tool(*command, "--format", "json", "--output", files[-1])
        cls.page = folder / "page.html"
        cls.run_tool("report", *files, "-o", str(cls.page))
        cls.browser = browser.Browser()
        cls.addClassCleanup(cls.browser.__exit__)

    @staticmethod
    def run_tool(*arguments: str) -> None:
        done = subprocess.run([PROGRAM, *arguments], env={**os.environ, "FLAGOS_TARGET": "cpu"}, capture_output=True,
                              text=True, timeout=120, check=False)
        assert done.returncode in (0, 1, 3), done.stderr

    def test_every_window_and_color_scheme(self) -> None:
        for name, (width, height) in WINDOWS.items():
            for scheme in ("light", "dark"):
                with self.subTest(f"{name}, {scheme}"):
                    self.browser.errors.clear()
                    self.browser.open(self.page, width, height, scheme)
                    self.assertEqual(self.browser.errors, [])
                    self.check_colors(dark=scheme == "dark")
                    self.check_layout(width)

    def check_colors(self, dark: bool) -> None:
        text, paper = self.browser.value(
            "(style => [style.color, style.backgroundColor])(getComputedStyle(document.body))")
        self.assertGreater(abs(brightness(text) - brightness(paper)), 180)
        self.assertEqual(brightness(paper) < 128, dark)
        labels = self.browser.value("[...document.querySelectorAll('.xtick text')].map(e => getComputedStyle(e).fill)")
        self.assertTrue(labels)
        for color in labels:
            self.assertGreater(abs(brightness(color) - brightness(paper)), 100, "a plot's labels")

    def check_layout(self, width: int) -> None:
        self.assertLessEqual(self.browser.value("document.documentElement.scrollWidth"), width, "the page scrolls aside")
        plots = self.browser.value(
            "[...document.querySelectorAll('.main-svg')].map(e => e.getBoundingClientRect()).map(r => [r.left, r.right])")
        self.assertGreater(len(plots), 2)
        for left, right in plots:
            self.assertGreaterEqual(left, 0)
            self.assertLessEqual(right, width)
            self.assertGreater(right - left, width / 2, "a plot is drawn small")

    def test_a_filter_leaves_the_rows_that_contain_it(self) -> None:
        self.browser.open(self.page, *WINDOWS["desktop"], "light")
        rows = "[...document.querySelectorAll('table')].filter(t => t.textContent.includes('ratio'))[0].tBodies[0].rows"
        before = self.browser.value(f"{rows}.length")
        shown = self.browser.value(
            "(field => { field.value = 'mm'; field.dispatchEvent(new Event('input', {bubbles: true}));"
            f" return [...{rows}].filter(r => r.offsetParent !== null).map(r => r.cells[0].textContent.trim()); }})"
            "([...document.querySelectorAll('label')].filter(l => l.textContent.includes('Filter rows'))[0]"
            ".parentElement.querySelector('input'))")
        self.assertTrue(shown)
        self.assertLess(len(shown), before)
        self.assertEqual({op.split('.')[0] for op in shown}, {"mm"})


if __name__ == "__main__":
    sys.argv.pop(1)
    unittest.main()
