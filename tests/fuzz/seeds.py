"""Calls to start from: the corpus that the build recorded (see tool/traces), and arguments made up from a schema."""

from __future__ import annotations

import fnmatch
import functools
import json
import random
import sys
from pathlib import Path
from typing import Any

import torch

from call_source import Call, overload_of

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tool" / "traces"))
from corpus_records import split_types  # noqa: E402

# Operators that are not called, each with its reason.
NOT_CALLED = {
    "from_file": "reads a file named by its argument",
    "save": "writes a file",
    "_pin_memory": "allocates pinned memory",
    "manual_seed": "would change the seed of the next arm",
    "_record_function_enter": "the profiler's, needs its pair",
    "_record_function_enter_new": "the profiler's, needs its pair",
    "_record_function_exit": "the profiler's, needs its pair",
    "set_grad_enabled": "would change the next arm's mode",
    "_set_grad_enabled": "would change the next arm's mode",
    "_debug_allocator": "prints",
    "print": "prints",
    "_print": "prints",
    "_assert_tensor_metadata": "compares devices named in its arguments",
    "data": "a binding, not an operator",
    "backward": "the binding of torch.autograd; gradients are taken by the fuzzer",
    "_nnpack_spatial_convolution": "reads sizes past its arguments' dimensions before it checks them",
    "_test_ambiguous_defaults": "PyTorch's own test operator: makes its result on the CPU",
}
DTYPES = {
    "float": "float32", "double": "float64", "c10::Half": "float16", "c10::BFloat16": "bfloat16", "long int": "int64",
    "int": "int32", "short int": "int16", "signed char": "int8", "unsigned char": "uint8", "bool": "bool",
    "c10::complex<float>": "complex64", "c10::complex<double>": "complex128", "c10::Float8_e4m3fn": "float8_e4m3fn",
    "c10::Float8_e5m2": "float8_e5m2",
}
SCALAR_TYPES = ("uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "complex32", "complex64",
                "complex128", "bool", "qint8", "quint8", "qint32", "bfloat16")
LAYOUTS = ("strided", "sparse_coo", "sparse_csr")
MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")


class NotACall(Exception):
    """A recorded node that can't be told as a call."""


def _range_of(node: dict) -> dict[int, tuple[int, int]]:
    text = next((a["value"] for a in node["attrs"] if a["name"] == "tensor_range"), "")
    return {int(k): (int(v[0]), int(v[1])) for k, v in json.loads(text).items()} if text else {}


def extent(size: list[int], stride: list[int], offset: int) -> int:
    """Elements a storage needs for such a view."""
    if 0 in size:
        return offset
    return offset + 1 + sum((n - 1) * s for n, s in zip(size, stride))


class _Reader:
    """Turns one node of the corpus into a call."""

    def __init__(self, node: dict) -> None:
        self.node = node
        self.ranges = _range_of(node)
        self.storages: list[dict] = []
        self.tensors: list[dict] = []
        self.by_id: dict[int, int] = {}
        self.storage_by_id: dict[tuple, int] = {}
        self.seen = 0

    def tensor(self, value: list, shape: list, stride: list, kind: str) -> dict:
        dtype = DTYPES.get(kind.removeprefix("Tensor(").removesuffix(")"))
        if dtype is None:
            raise NotACall(kind)
        low, high = self.ranges.get(self.seen, (None, None))
        self.seen += 1
        if value[0] in self.by_id:
            return {"tensor": self.by_id[value[0]]}
        key = (value[1], dtype)
        if key not in self.storage_by_id:
            self.storage_by_id[key] = len(self.storages)
            fill = {"seed": len(self.storages)}
            fill.update({"low": low, "high": high} if low is not None else {})
            self.storages.append({"device": "flagos", "dtype": dtype, "numel": 0, "fill": fill})
        number = self.storage_by_id[key]
        strides = stride if len(stride) == len(shape) else _contiguous(shape)
        self.storages[number]["numel"] = max(self.storages[number]["numel"], extent(shape, strides, value[2]))
        self.by_id[value[0]] = len(self.tensors)
        self.tensors.append({"storage": number, "size": shape, "stride": strides, "offset": value[2]})
        return {"tensor": len(self.tensors) - 1}

    def value(self, value: Any, shape: Any, stride: Any, kind: str, real: str) -> Any:
        if kind.startswith("Tensor(nullptr") or kind == "None":
            return {"device": "flagos"} if "Device" in real else None  # the default device is not the one compared
        if kind.startswith("Tensor("):
            return self.tensor(value, shape, stride, kind)
        if kind.startswith("GenericList["):
            kinds = split_types(kind)
            if len(kinds) != len(value):
                raise NotACall("a list that was cut")
            return {"list": [self.value(v, shape[i], stride[i], kinds[i], real) for i, v in enumerate(value)]}
        if kind == "Generator":
            return None
        if kind == "Device":
            return {"device": "flagos"}
        if kind == "ComplexDouble":
            return {"complex": [0.5, -1.5]}  # the observer does not write the value
        return plain(value, kind, real)

    def call(self) -> Call:
        op = next(a["value"] for a in self.node["attrs"] if a["name"] == "op_schema").partition("(")[0]
        inputs = self.node["inputs"]
        arguments = overload_of(op)._schema.arguments
        if len(arguments) != len(inputs["values"]):
            raise NotACall("another number of arguments")
        args = [self.value(*row, str(argument.real_type)) for argument, *row in
                zip(arguments, inputs["values"], inputs["shapes"], inputs["strides"], inputs["types"])]
        return {"op": op, "via": "ops", "storages": self.storages, "tensors": self.tensors, "args": args, "mode": "",
                "backward": False}


def _raise(kind: str) -> None:
    raise NotACall(kind)


def plain(value: Any, kind: str, real: str) -> Any:
    """A value without tensors; dtypes, layouts and formats are recorded as numbers."""
    for word, names, key in (("ScalarType", SCALAR_TYPES, "dtype"), ("Layout", LAYOUTS, "layout"),
                             ("MemoryFormat", MEMORY_FORMATS, "memory_format")):
        if word in real:
            return {key: names[value]} if isinstance(value, int) and value < len(names) else _raise(real)
    if kind == "Double" and (isinstance(value, str) or value != value or value in (float("inf"), -float("inf"))):
        return {"float": str(value)}
    return value


def _contiguous(size: list[int]) -> list[int]:
    strides, step = [], 1
    for n in reversed(size):
        strides.insert(0, step)
        step *= max(n, 1)
    return strides


contiguous_strides = _contiguous


def made_up(op: str, rng: random.Random) -> Call:
    """A call of an operator that the corpus doesn't know, from its schema alone."""
    call: Call = {"op": op, "via": "ops", "storages": [], "tensors": [], "args": [], "mode": "", "backward": False}

    def tensor() -> dict:
        size = rng.choice([[2, 3], [3], [2, 3, 4], [1, 2, 4, 4], []])
        dtype = rng.choice(["float32", "float32", "float32", "int64", "bool", "float64"])
        call["storages"].append({"device": "flagos", "dtype": dtype, "numel": extent(size, _contiguous(size), 0),
                                 "fill": {"seed": len(call["storages"])}})
        call["tensors"].append({"storage": len(call["storages"]) - 1, "size": size, "stride": _contiguous(size), "offset": 0})
        return {"tensor": len(call["tensors"]) - 1}

    def value(text: str) -> Any:
        if text.startswith("Optional["):
            return None if rng.random() < 0.5 else value(text[9:-1])
        if text.startswith("List["):
            return {"list": [value(text[5:-1]) for _ in range(rng.choice([1, 2, 3]))]}
        makers = {"Tensor": tensor, "int": lambda: rng.choice([0, 1, 2]), "SymInt": lambda: rng.choice([0, 1, 2]),
                  "float": lambda: 0.5, "bool": lambda: rng.random() < 0.5, "number": lambda: rng.choice([1, 0.5]),
                  "str": lambda: "mean", "Device": lambda: {"device": "flagos"}, "Generator": lambda: None}
        return makers[text]() if text in makers else _raise(text)

    for argument in overload_of(op)._schema.arguments:
        omit = argument.has_default_value() and rng.random() < 0.7
        real = str(argument.real_type)
        if "Device" in real:
            call["args"].append({"device": "flagos"})
            continue
        unusual = any(word in real for word in ("ScalarType", "Layout", "MemoryFormat"))
        call["args"].append({"omit": True} if omit else None if unusual else value(str(argument.type)))
    return call


class Seeds:
    """The calls known of each operator; those without any are made up."""

    def __init__(self, corpus: Path, pattern: str = "*") -> None:
        nodes: dict[str, list[dict]] = {}
        for node in json.loads(corpus.read_text())["nodes"]:
            schema = next((a["value"] for a in node["attrs"] if a["name"] == "op_schema"), "")
            nodes.setdefault(schema.partition("(")[0], []).append(node)
        self.nodes = {op: found for op, found in nodes.items() if op.startswith("aten::") and _is_called(op, pattern)}
        self.unknown = sorted(op for op in _all_operators() if op not in nodes and _is_called(op, pattern))
        self.known = sorted(self.nodes)

    def draw(self, rng: random.Random) -> Call:
        """A call of a random operator; nine of ten are of those the corpus knows. Raises NotACall."""
        if self.known and (not self.unknown or rng.random() < 0.9):
            return _Reader(rng.choice(self.nodes[rng.choice(self.known)])).call()
        return made_up(rng.choice(self.unknown), rng)


def _is_called(op: str, pattern: str) -> bool:
    name = op.removeprefix("aten::")
    base = name.partition(".")[0]
    return base not in NOT_CALLED and (fnmatch.fnmatchcase(name, pattern) or fnmatch.fnmatchcase(base, pattern))


@functools.cache
def _all_operators() -> list[str]:
    """Overloads of aten that the dispatcher knows, without TorchScript's own."""
    found = []
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name + (f".{schema.overload_name}" if schema.overload_name else "")
        if schema.name.startswith("aten::") and torch._C._dispatch_has_kernel(name):
            if any("Tensor" in str(a.type) for a in schema.arguments):
                found.append(name)
    return found
