"""Emits the list of boxed operators of the installed PyTorch, in shards of C++.

Input is torchgen's own native_functions.yaml, as packaged in the torch wheel, and gen/policy.yaml. Output goes to the
build tree: register_NN.cpp (the shards), shards.cpp (their list) and ops.txt (one operator a line). The same input gives
the same bytes.

Which operators: every one with a kernel for the target itself (CPU, CUDA or structured), or a CompositeExplicit one,
which then runs whole on the target instead of having its insides boxed one by one. CompositeImplicit operators are left
out, so that autograd sees what they are made of, unless the target has a kernel of its own as well (silu_backward). So
are views with a CompositeExplicit kernel: it ends in as_strided.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable, Sequence

import torchgen
import yaml
from torchgen.gen import parse_native_yaml
from torchgen.model import (
    BaseTy,
    BaseType,
    DispatchKey,
    ListType,
    NativeFunction,
    OptionalType,
    Type,
)

# Types with a rule in lib/boxing/arguments.h; the compiler has the last word, this gives the better message.
KNOWN_TYPES = frozenset(
    BaseTy[name]
    for name in (
        "Tensor int float bool str Scalar ScalarType Device DeviceIndex Layout MemoryFormat Generator Dimname SymInt "
        "SymBool Stream Storage QScheme"
    ).split()
    if name in BaseTy.__members__
)
TARGET_KEYS = (DispatchKey.CPU, DispatchKey.CUDA)


class GeneratorError(Exception):
    """The input can't be turned into a list of operators; the text says why and what to do."""


@dataclass(frozen=True)
class Policy:
    """gen/policy.yaml, by overload."""

    skipped: frozenset[str]
    contiguous: dict[str, tuple[str, ...]]
    mutated: dict[str, tuple[str, ...]]
    host: dict[str, tuple[str, ...]]
    metadata: frozenset[str] = frozenset()


def load_policy(path: Path, known: Iterable[str]) -> Policy:
    """Reads the policy; every name must be an operator of this torch, or its entry be `optional`."""
    data = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    unknown_sections = set(data) - {"exclude", "handwritten", "contiguous", "mutated", "metadata", "host"}
    if unknown_sections:
        raise GeneratorError(f"{path.name}: unknown section {sorted(unknown_sections)[0]!r}")
    known = sorted(known)

    def names(section: str) -> list[str]:
        return [name for entry in data.get(section) or [] for name in entry_names(path, section, entry, known)]

    def arguments(section: str) -> dict[str, tuple[str, ...]]:
        found = {}
        for entry in data.get(section) or []:
            for name in entry_names(path, section, entry, known):
                if name in found:
                    raise GeneratorError(f"{path.name}: {section}: {name} is listed twice; put its arguments in one entry")
                found[name] = tuple(entry.get("arguments") or ())
        return found

    return Policy(
        frozenset(names("exclude") + names("handwritten")),
        arguments("contiguous"),
        arguments("mutated"),
        arguments("host"),
        frozenset(names("metadata")),
    )


def entry_names(path: Path, section: str, entry: dict, known: Sequence[str]) -> list[str]:
    """The operators of one policy entry, checked."""
    listed = entry.get("ops") or ([entry["op"]] if "op" in entry else [])
    if not listed:
        raise GeneratorError(f"{path.name}: an entry of {section!r} names no operator: {entry}")
    if not str(entry.get("reason") or "").strip():
        raise GeneratorError(f"{path.name}: {section}: {listed[0]} has no reason; say why it is a special case")
    found = []
    for name in listed:
        if name in known:
            found.append(name)
        elif not entry.get("optional"):
            near = difflib.get_close_matches(name, known, n=3)
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise GeneratorError(
                f"{path.name}: {section}: this torch has no operator {name!r}{hint} "
                "(mark the entry `optional: true` if only some versions have it)"
            )
    return found


def base_types(kind: Type) -> Iterable[Type]:
    """The innermost types of an argument or result type."""
    if isinstance(kind, (OptionalType, ListType)):
        yield from base_types(kind.elem)
    else:
        yield kind


def check_types(function: NativeFunction) -> None:
    """Fails on a type for which there is no boxing rule, naming operator and type."""
    for argument in (*function.func.arguments.flat_all, *function.func.returns):
        for kind in base_types(argument.type):
            if not (isinstance(kind, BaseType) and kind.name in KNOWN_TYPES):
                raise GeneratorError(
                    f"{function.func.name}: no boxing rule for type {argument.type} of {argument.name!r}. Add one to "
                    "lib/boxing/arguments.h (or results.h) and its name to KNOWN_TYPES in gen/generate.py, or exclude "
                    "the operator in gen/policy.yaml with a reason"
                )


def is_boxed(function: NativeFunction, indices: dict) -> bool:
    """Whether the operator runs boxed, before the policy is asked."""
    explicit = (
        function.has_composite_explicit_autograd_kernel
        or function.has_composite_explicit_autograd_non_functional_kernel
    )
    if function.manual_kernel_registration or (function.is_view_op and explicit):
        return False
    structured = function.structured or function.structured_delegate is not None
    return explicit or structured or any(key in indices and indices[key].has_kernel(function) for key in TARGET_KEYS)


@dataclass(frozen=True)
class Operator:
    """One line of a shard."""

    name: str  # add.Tensor
    symbol: str  # add_Tensor, in namespace at::_ops
    header: str  # ATen/ops/add_ops.h
    policy: str  # C++ of a non-default OpPolicy, or ""
    signature: str  # operators with the same one share a kernel instance


def signature_of(function: NativeFunction, parts: Sequence[str]) -> str:
    """Argument and result types, what is mutated, and the policy, as one text. Only a key for dealing out the shards."""
    arguments = [
        (str(a.type), a.annotation is not None and a.annotation.is_write)
        for a in function.func.schema_order_arguments()
    ]
    results = [str(r.type) for r in function.func.returns]
    return re.sub(r"\[\d+\]", "[]", f"{arguments} {results} {function.structured} {list(parts)}")


def argument_mask(function: NativeFunction, section: str, wanted: Sequence[str]) -> int:
    """Bit i is set when argument i is among `wanted`."""
    arguments = [a.name for a in function.func.schema_order_arguments()]
    unknown = [name for name in wanted if name not in arguments]
    if unknown:
        raise GeneratorError(
            f"policy.yaml: {section}: {function.func.name} has no argument {unknown[0]!r}; it has {arguments}"
        )
    return sum(1 << arguments.index(name) for name in wanted)


def operator_of(function: NativeFunction, policy: Policy) -> Operator:
    """Describes one boxed operator, special cases included."""
    name = str(function.func.name)
    check_types(function)
    parts = []
    for section in ("contiguous", "mutated", "host"):
        wanted = getattr(policy, section)
        if name in wanted:
            parts.append(f".{section}_args = {argument_mask(function, section, wanted[name]):#x}")
    if name in policy.metadata:
        parts.append(".reads_metadata = true")
    return Operator(
        name,
        function.func.name.unambiguous_name(),
        f"ATen/ops/{function.root_name}_ops.h",
        f"OpPolicy{{{', '.join(parts)}}}" if parts else "",
        signature_of(function, parts),
    )


def select(functions: Sequence[NativeFunction], indices: dict, policy: Policy) -> list[Operator]:
    """The boxed operators, sorted by name, each once."""
    chosen = {}
    for function in functions:
        name = str(function.func.name)
        if name in policy.skipped or not is_boxed(function, indices):
            continue
        if name in chosen:
            raise GeneratorError(f"native_functions.yaml lists {name} twice")
        chosen[name] = operator_of(function, policy)
    return [chosen[name] for name in sorted(chosen)]


def keep_only(operators: Sequence[Operator], wanted: Sequence[str]) -> list[Operator]:
    """Restricts the list to overloads or bare names, for quick builds."""
    kept = [op for op in operators if op.name in wanted or op.name.split(".")[0] in wanted]
    missing = set(wanted) - {op.name for op in kept} - {op.name.split(".")[0] for op in kept}
    if missing:
        raise GeneratorError(f"op_filter: no boxed operator is called {', '.join(sorted(missing))}")
    return kept


def shard_text(number: int, operators: Sequence[Operator]) -> str:
    """The C++ of one shard."""
    includes = "".join(f"#include <{header}>\n" for header in sorted({op.header for op in operators}))
    entries = "".join(
        f"    registered_op<at::_ops::{op.symbol}{', ' + op.policy if op.policy else ''}>(),\n" for op in operators
    )
    return (
        f"// Generated by gen/generate.py; do not edit.\n#include \"kernel/op_kernel.h\"\n\n{includes}\n"
        "namespace flagos::kernel {\n\n"
        f"std::span<const RegisteredOp> shard_{number:02d}();\n"
        f"std::span<const RegisteredOp> shard_{number:02d}() {{\n"
        f"  static const std::vector<RegisteredOp> operators{{\n{entries}  }};\n  return operators;\n}}\n\n"
        "}  // namespace flagos::kernel\n"
    )


def list_text(count: int) -> str:
    """The C++ that lists the shards."""
    declarations = "".join(f"std::span<const RegisteredOp> shard_{i:02d}();\n" for i in range(count))
    calls = ", ".join(f"shard_{i:02d}()" for i in range(count))
    return (
        "// Generated by gen/generate.py; do not edit.\n"
        '#include <vector>\n\n#include "kernel/registration.h"\n\nnamespace flagos::kernel {\n\n'
        f"{declarations}\nstd::span<const std::span<const RegisteredOp>> all_shards() {{\n"
        f"  static const std::vector<std::span<const RegisteredOp>> shards{{{calls}}};\n  return shards;\n}}\n\n"
        "}  // namespace flagos::kernel\n"
    )


def outputs(operators: Sequence[Operator], shards: int) -> dict[str, str]:
    """File name -> text. Whole signatures are dealt out, so that each is compiled once and shards take about equal time."""
    rank = {signature: i for i, signature in enumerate(sorted({op.signature for op in operators}))}
    dealt = [[op for op in operators if rank[op.signature] % shards == i] for i in range(shards)]
    files = {f"register_{i:02d}.cpp": shard_text(i, dealt[i]) for i in range(shards)}
    files["shards.cpp"] = list_text(shards)
    files["ops.txt"] = "".join(f"{op.name}\n" for op in operators)
    return files


def write(directory: Path, files: dict[str, str]) -> None:
    """Writes each file whole or not at all."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        partial = directory / f".{name}.partial"
        partial.write_text(text, encoding="utf-8")
        os.replace(partial, directory / name)


def packaged_yaml() -> Path:
    """Where the torch wheel keeps native_functions.yaml."""
    return Path(torchgen.__file__).parent / "packaged" / "ATen" / "native"


def generate(yaml_dir: Path, policy_file: Path, shards: int, only: Sequence[str]) -> dict[str, str]:
    """All output files for one torch."""
    parsed = parse_native_yaml(str(yaml_dir / "native_functions.yaml"), str(yaml_dir / "tags.yaml"))
    policy = load_policy(policy_file, (str(f.func.name) for f in parsed.native_functions))
    operators = select(parsed.native_functions, parsed.backend_indices, policy)
    if only:
        operators = keep_only(operators, only)
    return outputs(operators, shards)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; see --help."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out-dir", type=Path, required=True)
    parser.add_argument("--shards", type=int, default=24)
    parser.add_argument("--policy", type=Path, default=Path(__file__).with_name("policy.yaml"))
    parser.add_argument("--yaml-dir", type=Path, default=None, help="default: the one packaged with torchgen")
    parser.add_argument("--only", default="", help="comma-separated overloads or bare names; default: all")
    options = parser.parse_args(arguments)
    only = [name.strip() for name in options.only.split(",") if name.strip()]
    try:
        write(options.out_dir, generate(options.yaml_dir or packaged_yaml(), options.policy, options.shards, only))
    except (GeneratorError, OSError) as error:
        print(f"gen/generate.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
