"""Records of calls: reading them from an execution trace, choosing the few worth keeping, writing them as a trace.

The corpus is itself a valid execution trace, so that flagos-diag has one reader for it and for what users record.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

SCHEMA = "1.1.1-chakra.0.0.4"
MAX_BYTES = 64 << 20
# A recorded range beyond this is uninitialized memory (an `out` argument, a tensor about to be filled), not data.
LARGEST_RANGE = 1 << 31
UNDEFINED = "Tensor(nullptr (uninitialized))"
KEPT_ATTRIBUTES = ("op_schema", "tensor_range")


@dataclass
class Record:
    """One call, as the trace spells it: `inputs` and `outputs` have values, shapes, types and strides."""

    schema: str
    inputs: dict[str, list[Any]]
    outputs: dict[str, list[Any]]
    ranges: dict[str, list[int]] = field(default_factory=dict)
    derived: bool = False

    @property
    def op(self) -> str:
        return self.schema.partition("(")[0]


def split_types(text: str) -> list[str]:
    """The element types of "GenericList[Tensor(float),None]"; commas inside parentheses and brackets don't separate."""
    inner = text[text.index("[") + 1 : -1]
    parts, depth, start = [], 0, 0
    for place, character in enumerate(inner):
        depth += (character in "([<") - (character in ")]>")
        if character == "," and depth == 0:
            parts.append(inner[start:place])
            start = place + 1
    return parts + [inner[start:]] if inner else []


@dataclass
class TensorUse:
    """One tensor of a record; `value` is the trace's own list, so that renumbering writes through."""

    value: list[Any]
    shape: list[int]
    strides: list[int]
    dtype: str

    def extent(self) -> int:
        """Elements of storage that the tensor needs, from the storage's beginning."""
        if 0 in self.shape:
            return self.value[2]
        return self.value[2] + 1 + sum((n - 1) * s for n, s in zip(self.shape, self.strides))


def tensors(part: dict[str, list[Any]]) -> Iterator[TensorUse]:
    """The tensors of a record's inputs or outputs, in the order in which the trace numbers their ranges."""

    def walk(value: Any, shape: Any, strides: Any, type_: str) -> Iterator[TensorUse]:
        if type_.startswith("Tensor("):
            yield TensorUse(value, shape, strides, type_[7:-1])
        elif type_.startswith(("GenericList[", "Tuple[")):
            for item in zip(value, shape, strides, split_types(type_)):
                yield from walk(*item)

    for item in zip(part["values"], part["shapes"], part["strides"], part["types"]):
        yield from walk(*item)


def is_undefined(use: TensorUse) -> bool:
    return "nullptr" in use.dtype


def _usable(part: dict[str, list[Any]]) -> bool:
    """Dense tensors on the CPU, of an affordable size; a trace can't describe sparse and quantized ones."""
    extents: dict[int, int] = {}
    for use in tensors(part):
        if is_undefined(use):
            continue
        if use.value[5] != "cpu" or "q" in use.dtype or len(use.shape) != len(use.strides):
            return False
        extents[use.value[1]] = max(extents.get(use.value[1], 0), use.extent() * use.value[4])
    return sum(extents.values()) <= MAX_BYTES


def _ranges(text: str) -> dict[str, list[int]]:
    kept = {}
    recorded = json.loads(text) if text else {}
    for place, (low, high) in recorded.items():
        if -LARGEST_RANGE <= low <= high <= LARGEST_RANGE:
            kept[place] = [low, high]
    return kept


def _safe(ranges: dict[str, list[int]], schema: str) -> dict[str, list[int]]:
    """Without the integers that a kernel takes for places in memory unchecked and that no range can make good ones.

    Negative pivots come in pairs, each of which tells where its block ends; positive ones are rows, counted from one.
    """
    if schema.startswith("aten::linalg_ldl_solve") and "1" in ranges:
        low, high = ranges["1"]
        return ranges | {"1": [max(low, 1), max(high, 1)]}
    return ranges


# The observer's layout of a node: a line each for inputs, outputs and attributes.
_NODE = re.compile(
    r'^ *("inputs": \{.*\}),\n *("outputs": \{.*\}),\n *"attrs": \[.*?"op_schema", "type": "string", "value": '
    r'"(aten::.*?[^\\])"\},.*?"tensor_range", "type": "string", "value": "(.*?)"\}',
    re.MULTILINE,
)
_IDS = re.compile(r"\[(\d+),(\d+),(?=\d+,\d+,\d+,\")")


def _text_key(schema: str, inputs: str) -> str:
    """The text of a call with storages renamed in order of appearance, so that equal calls have equal texts."""
    names: dict[str, int] = {}
    return schema + _IDS.sub(lambda ids: f"[{names.setdefault(ids[2], len(names))},", inputs)


def read_trace(file: Path, seen: set[int]) -> Iterator[Record]:
    """The calls of operators in a trace that are not in `seen` yet, those that can be rebuilt from it.

    Nineteen in twenty calls repeat an earlier one, and parsing is what the build waits for; so nodes are compared as
    text, and only new ones are parsed.
    """
    for inputs, outputs, schema, range_text in _NODE.findall(file.read_text()):
        key = hash(_text_key(schema, inputs))
        if key in seen:
            continue
        seen.add(key)
        node = json.loads(f'{{{inputs},{outputs},"schema":"{schema}","range":"{range_text}"}}')
        if _usable(node["inputs"]) and _usable(node["outputs"]):
            yield Record(node["schema"], node["inputs"], node["outputs"], _safe(_ranges(node["range"]), node["schema"]))


def _aliasing(record: Record) -> list[int]:
    """Storage ids renamed in order of appearance: what matters is which tensors share one, not its number."""
    names: dict[int, int] = {}
    return [names.setdefault(use.value[1], len(names)) for use in tensors(record.inputs)]


def exact_key(record: Record) -> str:
    """Equal for two calls that a dispatcher, and a kernel's choice of path, can't tell apart."""
    inputs = record.inputs
    scalars = [v for v, t in zip(inputs["values"], inputs["types"]) if "Tensor(" not in t]
    parts = [record.op, inputs["shapes"], inputs["strides"], inputs["types"], scalars, _aliasing(record)]
    return json.dumps(parts)


def variety_key(record: Record) -> str:
    """Equal for calls that differ only in size: of those, one is enough."""
    layouts = [
        (use.dtype, len(use.shape), 0 in use.shape, use.strides == sorted(use.strides, reverse=True))
        for use in tensors(record.inputs)
    ]
    return json.dumps([layouts[:6], record.inputs["types"]])


def cost(record: Record) -> tuple[bool, bool, int, str]:
    """Order of preference: recorded before derived, with data before empty, small before large."""
    sizes = [use.value[3] for use in tensors(record.inputs)]
    uneventful = bool(sizes) and min(sizes) == 0
    return (record.derived, uneventful, sum(max(8, n) for n in sizes), exact_key(record))


def choose(records: list[Record], at_most: int) -> list[Record]:
    """The smallest calls, unlike ones first."""
    varieties: set[str] = set()
    fresh, alike = [], []
    for record in sorted(records, key=cost):
        key = variety_key(record)
        (alike if key in varieties else fresh).append(record)
        varieties.add(key)
    return (fresh + alike)[:at_most]


def _renumber(record: Record, first_id: int) -> int:
    """Ids are addresses in disguise; the corpus numbers them by itself so that two builds give the same file."""
    names: dict[tuple[str, int], int] = {}
    for part in (record.inputs, record.outputs):
        for use in tensors(part):
            use.value[0] = names.setdefault(("tensor", use.value[0]), first_id + len(names))
            if not is_undefined(use):
                use.value[1] = names.setdefault(("storage", use.value[1]), first_id + len(names))
    return first_id + len(names)


def to_trace(records: list[Record]) -> dict[str, Any]:
    """A trace of the records, in the layout that PyTorch's observer writes; dates and process ids are left at zero."""
    nodes, next_id = [], 2
    for record in records:
        node_id, next_id = next_id, _renumber(record, next_id + 1)
        ranges = json.dumps(record.ranges, separators=(",", ":")) if record.ranges else ""
        attributes = zip(KEPT_ATTRIBUTES, (record.schema, ranges))
        nodes.append(
            {
                "id": node_id,
                "name": record.op.partition(".")[0],
                "ctrl_deps": 1,
                "inputs": record.inputs,
                "outputs": record.outputs,
                "attrs": [{"name": name, "type": "string", "value": value} for name, value in attributes],
            }
        )
    return {"schema": SCHEMA, "pid": 0, "time": "", "start_ts": 0, "nodes": nodes, "finish_ts": 0}
