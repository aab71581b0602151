"""Records for overloads that nobody's samples call, made from a recorded sibling overload.

OpInfo seldom calls `add.out`, `_foreach_add_.List` or `view_copy`, yet their arguments follow from those of
`add.Tensor`, `_foreach_add.List` and `view`: the same ones, and the recorded result as `out`.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import torch

from corpus_records import Record, is_undefined, tensors

NUMBERS = {"int", "float", "bool", "number", "Scalar"}
SIBLINGS_TRIED = 6
FLOAT32 = 6
# Operators that set every element of their first argument.
OVERWRITING = {"zero", "fill", "copy", "random", "set", "resize", "resize_as", "as_strided"}

# One argument as a trace has it: value, shape, stride, type.
Argument = tuple[Any, list[Any], list[Any], str]


def dispatcher_schemas() -> dict[str, Any]:
    """aten's overloads by full name; TorchScript's own `aten::` operators on numbers and strings are not among them."""
    known = set(torch._C._dispatch_get_all_op_names())
    found = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + ("." + schema.overload_name if schema.overload_name else "")
        if schema.name.startswith("aten::") and name in known:
            found[name] = schema
    return found


def _family(name: str) -> str:
    """What siblings share: the name without the marks of in-place and copying variants."""
    return re.sub(r"(_copy)?_*$", "", name.removeprefix("aten::").partition(".")[0])


def _none() -> Argument:
    return "<None>", [], [], "None"


def _number(value: bool | int | float) -> Argument:
    kind = {bool: "Bool", int: "Int", float: "Double"}[type(value)]
    return value, [], [], kind


def _plain(value: Any) -> Argument | None:
    """A default value from a schema, in the trace's spelling."""
    if value is None:
        return _none()
    if isinstance(value, (bool, int, float)):
        return _number(value)
    if isinstance(value, str):
        return value, [], [], "String"
    if isinstance(value, (list, tuple)):
        items = [_plain(item) for item in value]
        if all(item is not None for item in items):
            types = ",".join(item[3] for item in items)
            return list(value), [[] for _ in items], [[] for _ in items], f"GenericList[{types}]"
    return None


def _fresh_id(counter: list[int]) -> int:
    counter[0] += 1
    return counter[0]


def _dense_like(shape: list[int], dtype: str, itemsize: int, counter: list[int]) -> Argument:
    """A new contiguous tensor: an `out` argument must not share storage with what is read."""
    strides, numel = [], 1
    for size in reversed(shape):
        strides.insert(0, numel)
        numel *= max(size, 1)
    count = 0 if 0 in shape else numel
    return [_fresh_id(counter), _fresh_id(counter), 0, count, itemsize, "cpu"], shape, strides, f"Tensor({dtype})"


def _outs(record: Record, lists: bool, counter: list[int]) -> list[Argument]:
    """The recorded results as fresh tensors; results of list operators stay lists."""
    made: list[Argument] = []
    source = record.outputs if any(True for _ in tensors(record.outputs)) else record.inputs
    for value, shape, strides, type_ in zip(*(source[k] for k in ("values", "shapes", "strides", "types"))):
        part = {"values": [value], "shapes": [shape], "strides": [strides], "types": [type_]}
        fresh = [_dense_like(t.shape, t.dtype, t.value[4], counter) for t in tensors(part) if not is_undefined(t)]
        if not fresh:
            continue
        if lists and type_.startswith("GenericList"):
            columns = [list(column) for column in zip(*fresh)]
            made.append((columns[0], columns[1], columns[2], f"GenericList[{','.join(columns[3])}]"))
        else:
            made += fresh
    return made


def _is_out(argument: Any) -> bool:
    return bool(argument.is_out) or (argument.kwarg_only and argument.alias_info is not None)


def _converted(argument: Argument, wanted: str, counter: list[int]) -> Argument | None:
    """Between overloads a tensor becomes a number, a number a 0-d tensor, a list its first element, and back."""
    value, shape, strides, type_ = argument
    if wanted in NUMBERS and type_.startswith("Tensor("):
        return _number(2)
    if wanted == "Tensor" and type_ in ("Int", "Double", "Bool"):
        return _dense_like([], "float", 4, counter)
    if wanted == "int" and type_.startswith("GenericList[Int"):
        return _number(value[0])
    if wanted in ("List[int]", "List[SymInt]") and type_ == "Int":
        return [value], [[]], [[]], "GenericList[Int]"
    return None


def _missing(argument: Any) -> Argument | None:
    """An argument that the sibling doesn't have: its default, or the plainest value of its type."""
    if argument.has_default_value():
        return _plain(argument.default_value)
    wanted = str(argument.type)
    if wanted.startswith("Optional["):
        return _none()
    plainest = {"number": _number(2), "Scalar": _number(2), "bool": _number(False), "int": _number(1)}
    if argument.name == "dtype":
        return _number(FLOAT32)
    return plainest.get(wanted)


def derive(target: Any, sibling: Any, record: Record) -> Record | None:
    """The arguments of `target` from a call of `sibling`; None where one of them doesn't follow."""
    columns = zip(*(record.inputs[k] for k in ("values", "shapes", "strides", "types")))
    given = {a.name: (str(a.type), column) for a, column in zip(sibling.arguments, columns) if not _is_out(a)}
    counter = [1 << 40]
    outs = iter(_outs(record, any("List" in str(a.type) for a in target.arguments if _is_out(a)), counter))
    made: list[Argument] = []
    for argument in target.arguments:
        wanted = str(argument.type)
        if _is_out(argument):
            found = next(outs, None)
        elif argument.name in given and given[argument.name][0] == wanted:
            found = given[argument.name][1]
        elif argument.name in given:
            type_, column = given[argument.name]
            bare = wanted.removeprefix("Optional[").removesuffix("]") if wanted.startswith("Optional[") else wanted
            same = type_.removeprefix("Optional[").startswith(bare) and column[3] != "None"
            found = column if same else _converted(column, bare, counter) or _missing(argument)
        else:
            found = _missing(argument)
        if found is None:
            return None
        made.append(found)
    keys = ("values", "shapes", "strides", "types")
    inputs = {key: [argument[place] for argument in made] for place, key in enumerate(keys)}
    ranges = _moved_ranges(record, inputs)
    # Copied, since ids are renumbered in place when the corpus is written.
    inputs, outputs = copy.deepcopy((inputs, record.outputs))
    return Record(str(target), inputs, outputs, ranges, derived=True)


def _moved_ranges(record: Record, inputs: dict[str, list[Any]]) -> dict[str, list[int]]:
    """Ranges go by a tensor's number in the call, which is another one where arguments were added or left out."""
    by_tensor = {
        id(use.value): record.ranges[str(place)]
        for place, use in enumerate(tensors(record.inputs))
        if str(place) in record.ranges
    }
    return {str(i): by_tensor[id(use.value)] for i, use in enumerate(tensors(inputs)) if id(use.value) in by_tensor}


def _distance(target: Any, sibling: Any) -> tuple[int, str]:
    wanted = {(a.name, str(a.type)) for a in target.arguments if not _is_out(a)}
    offered = {(a.name, str(a.type)) for a in sibling.arguments if not _is_out(a)}
    return len(wanted ^ offered), sibling.name + "." + sibling.overload_name


def without_overwritten_ranges(record: Record, schema: Any) -> Record:
    """Drops the ranges of tensors that the call only writes: they are whatever the memory held before.

    They would make the corpus differ from build to build, and mean nothing.
    """
    overwrites = _family(record.op) in OVERWRITING
    place = 0
    for index, argument in enumerate(schema.arguments[: len(record.inputs["values"])]):
        part = {key: [column[index]] for key, column in record.inputs.items()}
        count = sum(1 for _ in tensors(part))
        if _is_out(argument) or (overwrites and index == 0):
            for number in range(place, place + count):
                record.ranges.pop(str(number), None)
        place += count
    return record


def derived_candidates(chosen: dict[str, list[Record]]) -> Iterator[Record]:
    """Candidates for every overload without a record, from its nearest siblings; the caller tries them out."""
    schemas = dispatcher_schemas()
    families: dict[str, list[str]] = {}
    for name in chosen:
        families.setdefault(_family(name), []).append(name)
    for name in sorted(schemas.keys() - chosen.keys()):
        target = schemas[name]
        siblings = sorted(families.get(_family(name), []), key=lambda s: _distance(target, schemas[s]))
        for sibling in siblings[:SIBLINGS_TRIED]:
            for record in chosen[sibling]:
                made = derive(target, schemas[sibling], record)
                if made is not None:
                    yield made
