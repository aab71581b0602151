#!/usr/bin/env python3
"""Records one step of each small model in workload_models.py as a PyTorch execution trace.

Needs transformers and diffusers beside torch; docs/workloads.md has the versions. The files in tool/traces/workloads
are what this writes with those versions: the same file each time, without anything that belongs to the machine.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

# Read by the observer when it starts, so before torch is imported; no GPU is wanted, so none is opened.
os.environ["ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
sys.dont_write_bytecode = True

SEED = 0
READ_COLUMNS = ("values", "shapes", "types", "strides")
PACKAGES = ("torch", "transformers", "diffusers")


def attribute(node: dict[str, Any], name: str) -> str:
    """The text of a node's attribute; empty where it has none."""
    return next((a["value"] for a in node.get("attrs", []) if a["name"] == name), "")


def renumbered(inputs: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Ids in order of appearance: the observer makes them from addresses, and only who shares a storage matters."""
    from corpus_records import is_undefined, tensors

    identities: dict[int, int] = {}
    storages: dict[int, int] = {}
    for use in tensors(inputs):
        if is_undefined(use):
            use.value[0] = 0
        else:
            use.value[0] = identities.setdefault(use.value[0], len(identities) + 1)
            use.value[1] = storages.setdefault(use.value[1], len(storages) + 1)
    return inputs


def slim(node: dict[str, Any], schemas: dict[str, Any]) -> dict[str, Any]:
    """What flagos-diag reads of a node: the inputs, the schema, and the ranges of integer data."""
    from corpus_derive import without_overwritten_ranges
    from corpus_records import LARGEST_RANGE, Record

    schema, text = attribute(node, "op_schema"), attribute(node, "tensor_range")
    inputs = renumbered({column: node["inputs"][column] for column in READ_COLUMNS})
    ranges = json.loads(text) if text else {}
    believable = {place: (low, high) for place, (low, high) in ranges.items() if max(-low, high) <= LARGEST_RANGE}
    record = Record(schema, inputs, {}, believable)
    if record.op in schemas:
        without_overwritten_ranges(record, schemas[record.op])
    attributes = {"op_schema": schema}
    if record.ranges:
        attributes["tensor_range"] = json.dumps(record.ranges, separators=(",", ":"))
    return {
        "inputs": inputs,
        "attrs": [{"name": name, "type": "string", "value": value} for name, value in attributes.items()],
    }


def is_decomposed(op: str) -> bool:
    """Whether PyTorch breaks the operator up before any device sees it; its parts are recorded too."""
    from torch._C import _dispatch_has_kernel_for_dispatch_key as has_kernel

    return has_kernel(op, "CompositeImplicitAutograd") and not has_kernel(op, "CPU")


def calls_of_kernels(document: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The calls that a device's kernels get, in order: no operator that is decomposed, and none that a kernel calls.

    What a CPU kernel calls is its own affair; a device that has the operator never sees it.
    """
    nodes = {node["id"]: node for node in document["nodes"]}
    hidden: set[int] = set()  # calls of kernels and all below them; a parent's id is less than its children's
    for identity in sorted(nodes):
        node = nodes[identity]
        op = attribute(node, "op_schema").partition("(")[0]
        if node["ctrl_deps"] in hidden and node["ctrl_deps"] != identity:
            hidden.add(identity)
        elif op and not is_decomposed(op):
            hidden.add(identity)
            yield node


def slim_trace(document: dict[str, Any], head: dict[str, Any]) -> dict[str, Any]:
    """The trace of those calls alone, with what flagos-diag reads; `head` goes beside the schema."""
    from corpus_derive import dispatcher_schemas

    schemas = dispatcher_schemas()
    kept = enumerate(calls_of_kernels(document), 1)
    return {
        "schema": document["schema"], **head, "nodes": [{"id": id_, **slim(node, schemas)} for id_, node in kept]
    }


def as_text(document: dict[str, Any]) -> str:
    """JSON with a line a node, so that a difference between two recordings can be read."""

    def compact(value: Any) -> str:
        return json.dumps(value, separators=(",", ":"))

    head = compact({key: value for key, value in document.items() if key != "nodes"})
    return head[:-1] + ',"nodes":[\n' + ",\n".join(compact(node) for node in document["nodes"]) + "\n]}\n"


def record(name: str) -> dict[str, Any]:
    """One step of a workload, as the observer writes it."""
    import torch
    from torch.profiler import ExecutionTraceObserver

    from workload_models import WORKLOADS

    torch.manual_seed(SEED)
    torch.set_num_threads(1)
    step = WORKLOADS[name]()
    with tempfile.TemporaryDirectory(prefix="flagos-workload-") as folder:
        file = Path(folder) / "trace.json"
        observer = ExecutionTraceObserver()
        observer.register_callback(str(file))
        observer.start()
        try:
            step()
        finally:
            observer.stop()
            observer.unregister_callback()
        return json.loads(file.read_text())


def versions() -> dict[str, str]:
    """Of the packages that decide which calls a model makes, without local suffixes such as "+cpu"."""
    return {package: importlib.metadata.version(package).partition("+")[0] for package in PACKAGES}


def record_all(names: list[str], folder: Path) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Writes a file for each workload, and yields it with what it holds."""
    from workload_models import WORKLOADS

    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        about = " ".join((WORKLOADS[name].__doc__ or "").split())
        head = {"workload": name, "about": about, "versions": versions()}
        document = slim_trace(record(name), head)
        file = folder / f"{name}.json"
        partial = file.with_suffix(".part")
        partial.write_text(as_text(document))
        partial.replace(file)
        yield file, document


def main() -> int:
    from workload_models import WORKLOADS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the files go, one a workload")
    parser.add_argument("--only", action="append", choices=sorted(WORKLOADS), metavar="NAME",
                        help=f"only this workload; may be repeated: {' '.join(WORKLOADS)}")
    options = parser.parse_args()
    for file, document in record_all(options.only or list(WORKLOADS), options.out):
        calls, size = len(document["nodes"]), file.stat().st_size / 1000
        sys.stderr.write(f"{file.name}: {calls} calls, {size:.0f} kB\n")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ImportError as error:
        sys.exit(f"record_workloads.py: {error}. Install what docs/workloads.md lists, beside torch.")
    except OSError as error:
        sys.exit(f"record_workloads.py: {error}")
