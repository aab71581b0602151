"""Checks the corpus that the build recorded: corpus_test.py CORPUS.json"""

from __future__ import annotations

import collections
import json
import sys
import unittest
from pathlib import Path
from typing import Any

CORPUS = Path(sys.argv.pop()) if len(sys.argv) > 1 else Path("corpus.json")
MAX_BYTES = 64 << 20


def schema_of(node: dict[str, Any]) -> str:
    return next(a["value"] for a in node["attrs"] if a["name"] == "op_schema")


def tensors(values: Any, shapes: Any, strides: Any) -> list[tuple[list[Any], list[int], list[int]]]:
    """Tensors among a node's values: lists whose last of six items is a device."""
    found = []
    for value, shape, stride in zip(values, shapes, strides):
        if isinstance(value, list) and len(value) == 6 and isinstance(value[5], str):
            found.append((value, shape, stride))
        elif isinstance(value, list):
            found += tensors(value, shape, stride)
    return found


class CorpusTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls) -> None:
        cls.document = json.loads(CORPUS.read_text())
        cls.nodes = cls.document["nodes"]
        cls.calls = collections.Counter(schema_of(node).partition("(")[0] for node in cls.nodes)

    def test_is_a_trace_of_the_known_schema(self) -> None:
        self.assertEqual(self.document["schema"].split(".")[0], "1")
        ids = [node["id"] for node in self.nodes]
        self.assertEqual(len(ids), len(set(ids)))

    def test_covers_the_operators(self) -> None:
        self.assertGreater(len(self.calls), 1900)
        for op in "add.Tensor add.out add_.Tensor view_copy _foreach_add_.List mm convolution_backward".split():
            self.assertIn(f"aten::{op}", self.calls)

    def test_has_few_calls_an_overload(self) -> None:
        self.assertLessEqual(max(self.calls.values()), 4 + 7)  # five sparse layouts, two quantized dtypes
        self.assertLess(sum(self.calls.values()), 4 * len(self.calls))
        self.assertLess(CORPUS.stat().st_size, 15e6)

    def test_factories_are_asked_for_sparse_layouts_and_quantized_dtypes(self) -> None:
        asked = collections.defaultdict(set)  # by operator: the first numbers after the size: dtype and layout
        for node in self.nodes:
            asked[schema_of(node).partition("(")[0]].add(tuple(map(str, node["inputs"]["values"][1:3])))
        self.assertTrue({("6", "1"), ("<None>", "1")} & asked["aten::zeros"])  # sparse_coo
        self.assertTrue({("6", "2"), ("<None>", "2")} & asked["aten::empty.memory_format"])  # sparse_csr
        self.assertTrue(any(dtype == "13" for dtype, _ in asked["aten::empty.memory_format"]))  # quint8

    def test_no_call_needs_much_memory(self) -> None:
        for node in self.nodes:
            part = node["inputs"]
            extents: dict[int, int] = {}
            for value, shape, strides in tensors(part["values"], part["shapes"], part["strides"]):
                reach = value[2] + 1 + sum((n - 1) * s for n, s in zip(shape, strides))
                extents[value[1]] = max(extents.get(value[1], 0), reach * value[4])
            self.assertLessEqual(sum(extents.values()), MAX_BYTES, schema_of(node))

    def test_calls_nothing_dangerous(self) -> None:
        for op in self.calls:
            self.assertFalse(op.startswith(("aten::from_file", "aten::record_stream")), op)

    def test_knows_the_ranges_of_indices(self) -> None:
        embeddings = [n for n in self.nodes if schema_of(n).startswith("aten::embedding(")]
        self.assertTrue(embeddings)
        for node in embeddings:
            text = next(a["value"] for a in node["attrs"] if a["name"] == "tensor_range")
            rows = node["inputs"]["shapes"][0][0]
            if 0 not in node["inputs"]["shapes"][1]:
                self.assertLess(json.loads(text)["1"][1], rows)


if __name__ == "__main__":
    unittest.main()
