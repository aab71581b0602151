"""The page of `flagos-diag report`, of documents whose fields hold what no flagos-diag writes there.

Called as: report_page_values_test.py PAGE_FOLDER DOCUMENT...: the documents' values are replaced one at a time.
"""
from __future__ import annotations

import json
import sys
import tempfile
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, sys.argv[1])
import assembly  # noqa: E402
from documents import DocumentError, read_documents  # noqa: E402

SEEDS = [Path(file) for file in sys.argv[2:]]
ODD = [None, True, 0, -1e308, 5e-324, 1 << 200, "", "\x1b[31m</script>\u202e", [], [[]], {}, {"a": {"b": [None]}}]


def documents_of(seed: Path) -> list[Any]:
    return [json.loads(text) for text in seed.read_bytes().split(b"\x1e")]


def places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of each value within `value`."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in items:
        yield (*above, name)
        yield from places(item, (*above, name))


def replaced(document: Any, place: tuple[Any, ...], by: Any) -> Any:
    copy = json.loads(json.dumps(document))
    inner = copy
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = by
    return copy


class OddValues(unittest.TestCase):
    def test_each_value_replaced(self) -> None:
        made = 0
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "a.json"
            for seed in SEEDS:
                for document in documents_of(seed):
                    for place in places(document):
                        for odd in ODD:
                            file.write_text(json.dumps(replaced(document, place, odd)), encoding="utf-8")
                            with self.subTest(seed=seed.name, place=place, value=odd):
                                try:
                                    for section in assembly.sections_of(read_documents([str(file)])):
                                        assembly.script_safe(section.data)
                                    made += 1
                                except DocumentError:
                                    pass
        self.assertGreater(made, 500)


if __name__ == "__main__":
    unittest.main()
