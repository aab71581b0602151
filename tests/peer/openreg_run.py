"""Runs PyTorch's own tests of a PrivateUse1 backend, those of its example backend openreg, on flagos.

openreg_run.py PYTORCH [--only FILE ...] [--json FILE]: PYTORCH is a checkout of pytorch/pytorch, of the installed
torch's version. Each file runs in a process of its own, with openreg's names replaced by flagos'. A failure is
explained by openreg_reasons.yaml, as an open gap or as no requirement, or by the number of devices: openreg has two.
Prints a Markdown table; exits with 1 when a failure is not explained or an explained one passes, with 2 when there is
nothing to run.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from typing import Any

FOLDER = Path("test/cpp_extensions/open_registration_extension/torch_openreg/tests")
REASONS = Path(__file__).with_name("openreg_reasons.yaml")
SECONDS = 300  # a file
# What takes a second device, as openreg's tests write it.
_SECOND_DEVICE = re.compile(
    r"flagos:1\b|device_index\(1\)|set_device\(1\)|Stream\(1\)|flagos\(1\)|device_count.*== 2|count, 2\)|thread_id % 2"
)


def translated(source: str) -> str:
    """The test with flagos' names. What only openreg's own package has stays an error of the test."""
    source = re.sub(r"\btorch_openreg\b", "flagos", source)
    return source.replace("openreg", "flagos").replace("OPENREG", "FLAGOS")


class _Rows(unittest.TestResult):
    """A line of JSON a test, at once: a test that ends the process leaves those before it."""

    def row(self, test: unittest.TestCase, outcome: str, said: str = "") -> None:
        method = getattr(type(test), getattr(test, "_testMethodName", ""), None)
        devices = bool(method and _SECOND_DEVICE.search(inspect.getsource(method)))
        name = ".".join(test.id().split(".")[-2:])
        print("ROW " + json.dumps({"test": name, "outcome": outcome, "said": said, "second": devices}), flush=True)

    def startTest(self, test: unittest.TestCase) -> None:
        self.row(test, "started")

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.row(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.row(test, "skipped", reason)

    def addFailure(self, test: unittest.TestCase, err: Any) -> None:
        # The first line of the error; PyTorch's own comparisons say more in the lines after it.
        text = str(err[1]).strip().splitlines()
        self.row(test, "failed", f"{err[0].__name__}: {text[0] if text else ''}")

    addError = addFailure


def run_file(path: Path) -> None:
    """In the child: runs the translated file `path` as an importable module, which multiprocessing's children need."""
    sys.path.insert(0, str(path.parent))
    import torch  # noqa: F401, PLC0415

    import flagos  # noqa: F401, PLC0415

    suite = unittest.defaultTestLoader.loadTestsFromName(path.stem)
    suite.run(_Rows())


def rows_of(source: Path) -> list[dict[str, Any]]:
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / source.name
        copy.write_text(translated(source.read_text(encoding="utf-8")), encoding="utf-8")
        package = str(Path(__file__).resolve().parents[2] / "python")
        path = os.pathsep.join(filter(None, [folder, package, os.environ.get("PYTHONPATH", "")]))
        try:
            done = subprocess.run(
                [sys.executable, __file__, "--file", str(copy)], cwd=folder, env={**os.environ, "PYTHONPATH": path},
                capture_output=True, text=True, check=False, timeout=SECONDS,
            )  # fmt: skip
            out, how = done.stdout, f"ended with {done.returncode}: {done.stderr.strip().splitlines()[-1:]}"
        except subprocess.TimeoutExpired as late:
            out, how = (late.stdout or b"").decode(), f"took more than {SECONDS} s"
    found: dict[str, dict[str, Any]] = {}
    for line in out.splitlines():
        if line.startswith("ROW "):
            row = json.loads(line[4:])
            found[row["test"]] = row
    for row in found.values():
        if row["outcome"] == "started":
            row.update(outcome="failed", said=f"the process {how}")
    return list(found.values()) or [{"test": "(the file)", "outcome": "failed", "said": how, "second": False}]


def explain(file: str, row: dict[str, Any], reasons: dict[str, str], devices: int) -> dict[str, Any]:
    """Adds why a failure is none of flagos'; an explanation that is not needed becomes a failure itself."""
    reason = reasons.get(f"{file}::{row['test']}")
    outcome, said = row["outcome"], row["said"]
    if outcome == "failed" and reason is not None:
        outcome, said = ("open", reason[5:].strip()) if reason.startswith("open:") else ("not applicable", reason)
    elif outcome == "failed" and row["second"] and devices < 2:
        outcome, said = "not applicable", f"needs two devices ({said})"
    elif outcome == "passed" and reason is not None:
        outcome, said = "failed", f"passes, but {REASONS.name} says: {reason}"
    return {"file": file, "test": row["test"], "outcome": outcome, "said": said}


def run_all(files: list[Path]) -> list[dict[str, Any]]:
    import torch  # noqa: PLC0415
    import yaml  # noqa: PLC0415

    import flagos  # noqa: PLC0415

    reasons = yaml.safe_load(REASONS.read_text(encoding="utf-8"))[flagos.target()] or {}
    devices = torch.accelerator.device_count()
    return [explain(file.name, row, reasons, devices) for file in files for row in rows_of(file)]


def table(rows: list[dict[str, Any]]) -> str:
    outcomes = ("passed", "failed", "open", "not applicable", "skipped")
    lines = ["| file | " + " | ".join(outcomes) + " |", "| --- |" + " ---: |" * len(outcomes)]
    for file in dict.fromkeys(row["file"] for row in rows):
        counts = Counter(row["outcome"] for row in rows if row["file"] == file)
        lines.append(f"| `{file}` | " + " | ".join(str(counts[each]) for each in outcomes) + " |")
    total = Counter(row["outcome"] for row in rows)
    lines.append("| all | " + " | ".join(str(total[each]) for each in outcomes) + " |")
    lines += ["", "| test | outcome | why |", "| --- | --- | --- |"]
    for row in rows:
        if row["outcome"] != "passed":
            said = row["said"].replace("|", "\\|")
            lines.append(f"| `{row['test']}` | {row['outcome']} | {said} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("pytorch", type=Path, nargs="?", help="a checkout of pytorch/pytorch")
    parser.add_argument("--only", nargs="+", default=[], metavar="FILE", help="test_rng.py, say")
    parser.add_argument("--json", type=Path, help="write each test's outcome here")
    parser.add_argument("--file", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.file is not None:
        run_file(options.file)
        return 0
    if options.pytorch is None:
        parser.error("which checkout of pytorch/pytorch? Clone it at the tag of the installed torch.")
    folder = options.pytorch / FOLDER
    files = sorted(folder.glob("test_*.py"))
    chosen = [file for file in files if not options.only or file.name in options.only]
    unknown = set(options.only) - {file.name for file in files}
    if not chosen or unknown:
        what = f"has no {', '.join(sorted(unknown))}" if unknown and files else "has no test_*.py"
        print(f"openreg_run: {folder} {what}. Give a checkout of pytorch/pytorch, 2.8 or newer.", file=sys.stderr)
        return 2
    rows = run_all(chosen)
    print(table(rows))
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return 1 if any(row["outcome"] == "failed" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
