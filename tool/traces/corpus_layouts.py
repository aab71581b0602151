"""Records of factories that are asked for a sparse layout or a quantized dtype, made from recorded calls.

Where such a call goes depends on these arguments alone: it arrives by the key of its layout and dtype. PyTorch's samples
hardly make any, and the observer can't record those with a compressed result.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from corpus_derive import dispatcher_schemas
from corpus_records import Record

# The numbers that an execution trace has for an argument of these types (c10/core/Layout.h, c10/core/ScalarType.h).
LAYOUTS = {"sparse_coo": 1, "sparse_csr": 2, "sparse_csc": 4, "sparse_bsr": 5, "sparse_bsc": 6}
QUANTIZED = {"qint8": 12, "quint8": 13}


def _with_number(record: Record, place: int, number: int) -> Record:
    inputs, outputs = copy.deepcopy((record.inputs, record.outputs))
    for key, value in (("values", number), ("types", "Int"), ("shapes", []), ("strides", [])):
        inputs[key][place] = value
    return Record(record.schema, inputs, outputs, dict(record.ranges), derived=True)


def _asked(schema: Any) -> Iterator[tuple[int, int]]:
    """The place of an argument, and the number it is to have."""
    names = [argument.name for argument in schema.arguments]
    for name, numbers in (("layout", LAYOUTS), ("dtype", QUANTIZED)):
        if name in names and "layout" in names:  # a dtype alone is a cast's or a sum's
            yield from ((names.index(name), number) for number in numbers.values())


def layout_candidates(chosen: dict[str, list[Record]]) -> Iterator[tuple[tuple[str, int, int], Record]]:
    """Candidates by overload, argument and number; of each, one that the operator takes is enough."""
    schemas = dispatcher_schemas()
    for op in sorted(chosen):
        for place, number in _asked(schemas[op]):
            for record in chosen[op]:
                yield (op, place, number), _with_number(record, place, number)


def first_of_each(candidates: list[tuple[tuple[str, int, int], Record]], running: list[Record]) -> list[Record]:
    """The first running candidate of each kind."""
    runs = {id(record) for record in running}
    kept: dict[tuple[str, int, int], Record] = {}
    for kind, record in candidates:
        if id(record) in runs:
            kept.setdefault(kind, record)
    return list(kept.values())
