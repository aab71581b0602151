"""Counts the test cases of a run of `meson test` and prints `N passed, N failed[, N skipped]` as the last line.

count_cases.py [LOG_DIR]: reads the results that meson left in build/meson-logs. Each case of a GoogleTest program is
one case, each TAP subtest is one, and so is a program that only has an exit status. A program that failed although none
of its cases did (it crashed, timed out, or ended early) counts as one failed case. Exits with 1 when a case failed or
none passed.
"""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

FAILED = {"FAIL", "ERROR", "TIMEOUT", "INTERRUPT", "UNEXPECTEDPASS"}


def outcome(case: ElementTree.Element) -> str:
    if case.find("failure") is not None or case.find("error") is not None:
        return "failed"
    # GoogleTest writes status="notrun" for a case that was disabled or filtered out.
    if case.find("skipped") is not None or case.get("status") == "notrun":
        return "skipped"
    return "passed"


def failed_programs(log: Path) -> set[str]:
    """Names of the programs that failed; the log has one JSON object a line."""
    runs = (json.loads(line) for line in log.read_text(encoding="utf-8").splitlines())
    return {run["name"] for run in runs if run["result"] in FAILED}


def count_cases(directory: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    unexplained = failed_programs(directory / "testlog.json")
    for suite in ElementTree.parse(directory / "testlog.junit.xml").getroot().iter("testsuite"):
        # GoogleTest: "project.NAME.Suite"; TAP: "project.NAME"; plain programs: "project", and their cases are NAMEs.
        name = suite.get("name", "").partition(".")[2]
        for case in suite.iter("testcase"):
            result = outcome(case)
            counts[result] += 1
            if result == "failed":
                unexplained -= {name, name.rpartition(".")[0], case.get("name", "")}
    counts["failed"] += len(unexplained)
    return counts


def main() -> int:
    directory = Path(sys.argv[1] if len(sys.argv) > 1 else "build/meson-logs")
    try:
        counts = count_cases(directory)
    except (OSError, ValueError, ElementTree.ParseError) as error:
        print(f"count_cases: no test results: {error}", file=sys.stderr)
        return 1
    line = f"{counts['passed']} passed, {counts['failed']} failed"
    if counts["skipped"]:
        line += f", {counts['skipped']} skipped"
    print(line, flush=True)
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
