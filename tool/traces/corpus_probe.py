"""Tries records out: each is rebuilt with noise as data, as flagos-diag will do it, and called once.

A record may be worthless (a derived one that the operator refuses) or dangerous (offsets that must ascend, rebuilt as
noise, make an operator read out of bounds). So the calls are made in forked children, and a child that dies takes
nothing with it but the record that killed it.
"""

from __future__ import annotations

import math
import os
import resource
import signal
from typing import Any

import torch

from corpus_derive import dispatcher_schemas
from corpus_records import Record, is_undefined, split_types, tensors

RUNS, THROWS, DIES, UNBUILDABLE = "runs", "throws", "dies", "unbuildable"
VERDICTS = {b"R"[0]: RUNS, b"T"[0]: THROWS, b"U"[0]: UNBUILDABLE}
SECONDS_A_CALL = 5
MEMORY_A_CHILD = 24 << 30  # of address space, most of it the libraries'
# Operators that read files, wait for devices, or are made to stop the process.
NEVER_CALLED = ("aten::from_file", "aten::_assert_async", "aten::record_stream", "aten::_print", "aten::_foobar")

DTYPES = {
    "float": torch.float32,
    "double": torch.float64,
    "c10::Half": torch.float16,
    "c10::BFloat16": torch.bfloat16,
    "c10::complex<float>": torch.complex64,
    "c10::complex<double>": torch.complex128,
    "c10::complex<c10::Half>": torch.complex32,
    "long int": torch.int64,
    "long": torch.int64,
    "int": torch.int32,
    "short int": torch.int16,
    "short": torch.int16,
    "signed char": torch.int8,
    "unsigned char": torch.uint8,
    "short unsigned int": torch.uint16,
    "unsigned short": torch.uint16,
    "unsigned int": torch.uint32,
    "c10::Float8_e4m3fn": torch.float8_e4m3fn,
    "c10::Float8_e4m3fnuz": torch.float8_e4m3fnuz,
    "c10::Float8_e5m2": torch.float8_e5m2,
    "c10::Float8_e5m2fnuz": torch.float8_e5m2fnuz,
    "bool": torch.bool,
}


class Unbuildable(Exception):
    """The trace has an argument that can't be rebuilt: an exotic dtype, a storage, a stream."""


def _storage(elements: int, dtype: torch.dtype, limits: list[int] | None) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.arange(elements) % 2 == 0
    if dtype.is_floating_point or dtype.is_complex:
        real = torch.empty(elements).uniform_(0.1, 0.9)
        return torch.complex(real, real.flip(0)).to(dtype) if dtype.is_complex else real.to(dtype)
    low, high = limits or (0, 1)
    largest = torch.iinfo(dtype).max
    low, high = max(low, torch.iinfo(dtype).min), min(high, largest - 1)
    return torch.randint(low, max(low, high) + 1, (elements,)).to(dtype)


def _tensors(record: Record) -> dict[int, torch.Tensor]:
    """The record's tensors by position; those of one storage share one."""
    uses = list(tensors(record.inputs))
    extents: dict[int, int] = {}
    for use in uses:
        extents[use.value[1]] = max(extents.get(use.value[1], 0), use.extent())
    storages: dict[tuple[int, str], torch.Tensor] = {}
    made = {}
    for place, use in enumerate(uses):
        if is_undefined(use):
            continue
        if use.dtype not in DTYPES:
            raise Unbuildable(use.dtype)
        key = (use.value[1], use.dtype)
        if key not in storages:
            storages[key] = _storage(extents[use.value[1]], DTYPES[use.dtype], record.ranges.get(str(place)))
        made[place] = storages[key].as_strided(use.shape, use.strides, use.value[2])
    return made


def arguments(record: Record) -> list[Any]:
    """The record's arguments as Python values. Throws Unbuildable."""
    made = _tensors(record)
    place = -1

    def build(value: Any, type_: str) -> Any:
        nonlocal place
        if type_.startswith("Tensor("):
            place += 1
            return made.get(place)
        if type_.startswith("GenericList["):
            return [build(v, t) for v, t in zip(value, split_types(type_))]
        if type_ in ("None", "Generator"):
            return None
        if type_ == "Double":
            return math.inf if value == "inf" else float(value)
        if type_ == "ComplexDouble":
            return 0.5 + 0.25j
        if type_ == "Device":
            return torch.device(value)
        if type_ in ("Int", "Bool", "String"):
            return value
        raise Unbuildable(type_)

    return [build(v, t) for v, t in zip(record.inputs["values"], record.inputs["types"])]


def _call(record: Record, schema: Any) -> None:
    namespace, _, rest = record.op.partition("::")
    name, _, overload = rest.partition(".")
    op = getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    given = arguments(record)
    if len(given) != len(schema.arguments):
        raise Unbuildable("recorded without its arguments")
    positional = [v for a, v in zip(schema.arguments, given) if not a.kwarg_only]
    named = {a.name: v for a, v in zip(schema.arguments, given) if a.kwarg_only}
    with torch.no_grad():
        op(*positional, **named)


def _child(records: list[Record], start: int, pipe: int, schemas: dict[str, Any]) -> None:
    """Writes one letter a record: R for one that runs, T that throws, U that can't be built. Never returns."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_A_CHILD, MEMORY_A_CHILD))
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    for record in records[start:]:
        signal.alarm(SECONDS_A_CALL)
        torch.manual_seed(0)
        try:
            _call(record, schemas[record.op])
            letter = b"R"
        except Unbuildable:
            letter = b"U"
        except BaseException:
            letter = b"T"
        os.write(pipe, letter)
    os._exit(0)


def probe(records: list[Record]) -> list[str]:
    """What became of each record: RUNS, THROWS, DIES or UNBUILDABLE."""
    schemas = dispatcher_schemas()
    verdicts: list[str] = []
    while len(verdicts) < len(records):
        if records[len(verdicts)].op.startswith(NEVER_CALLED) or records[len(verdicts)].op not in schemas:
            verdicts.append(DIES)
            continue
        reading, writing = os.pipe()
        stop = next(
            (i for i in range(len(verdicts), len(records)) if records[i].op.startswith(NEVER_CALLED)), len(records)
        )
        child = os.fork()
        if child == 0:
            os.close(reading)
            _child(records[:stop], len(verdicts), writing, schemas)
        os.close(writing)
        with os.fdopen(reading, "rb") as stream:
            letters = stream.read()
        os.waitpid(child, 0)
        verdicts += [VERDICTS[letter] for letter in letters]
        if len(verdicts) < stop:
            verdicts.append(DIES)
    return verdicts
