"""Runs the unittest cases of one file and prints TAP, so that meson counts each case.

unittest_tap.py FILE [ARGUMENTS]: the file's own directory goes first on the module path; ARGUMENTS become sys.argv[1:].
"""

from __future__ import annotations

import importlib.util
import sys
import unittest
from pathlib import Path


class TapResult(unittest.TestResult):
    """Prints one line a case as it ends; details of a failure as comments."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        self.failed = False

    def line(self, ok: bool, test: unittest.TestCase, directive: str = "", details: str = "") -> None:
        self.number += 1
        self.failed |= not ok
        print(f"{'ok' if ok else 'not ok'} {self.number} - {test.id().partition('.')[2]}{directive}")
        for detail in details.splitlines():
            print(f"# {detail}")
        sys.stdout.flush()

    def addSuccess(self, test: unittest.TestCase) -> None:
        self.line(True, test)

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self.line(True, test, f" # SKIP {reason}")

    def addExpectedFailure(self, test: unittest.TestCase, err: object) -> None:
        self.line(True, test)

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self.line(False, test, details="expected to fail, but passed")

    def addFailure(self, test: unittest.TestCase, err: object) -> None:
        self.line(False, test, details=self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: object) -> None:
        if err is not None:
            self.line(False, subtest, details=self._exc_info_to_string(err, test))


def load(path: Path) -> unittest.TestSuite:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return unittest.defaultTestLoader.loadTestsFromModule(module)


def main() -> int:
    path = Path(sys.argv[1]).resolve()
    sys.argv = [str(path), *sys.argv[2:]]
    sys.path.insert(0, str(path.parent))
    result = TapResult()
    load(path).run(result)
    print(f"1..{result.number}")
    return 1 if result.failed else 0


if __name__ == "__main__":
    sys.exit(main())
