#!/usr/bin/env python3
"""Writes the corpus: recorded arguments for PyTorch's operators, as one execution trace.

Run at build time, because the operators and their samples belong to the torch that the project is built against.
"""

from __future__ import annotations

import argparse
import json
import logging
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

# Read by the observer when it starts, so before torch is imported; no GPU is wanted, so none is opened.
os.environ["ENABLE_PYTORCH_EXECUTION_TRACE_SAVE_INTEGRAL_TENSOR_RANGE"] = "1"
os.environ["CUDA_VISIBLE_DEVICES"] = ""
os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
sys.dont_write_bytecode = True

CALLS_AN_OVERLOAD = 4
DERIVED_AN_OVERLOAD = 2
SHARES = 2


def _say(text: str) -> None:
    print(f"corpus: {text}", file=sys.stderr, flush=True)


def _work(share: int, result: Path, progress: Path) -> None:
    """In the child, which imports torch for itself."""
    logging.getLogger("torch.utils.cpp_extension").setLevel(logging.ERROR)  # that there is no GPU is our own doing
    import corpus_worker

    corpus_worker.record_share(share, SHARES, result, progress)


def _recorded(folder: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """The candidates of all shares, and what went wrong."""
    import pickle

    spawn = multiprocessing.get_context("spawn")
    files = [(folder / f"{share}.pickle", folder / f"{share}.progress") for share in range(SHARES)]
    children = [spawn.Process(target=_work, args=(share, *files[share])) for share in range(SHARES)]
    for child in children:
        child.start()
    found: dict[str, dict[str, Any]] = {}
    problems: list[str] = []
    for child, (result, progress) in zip(children, files):
        child.join()
        if child.exitcode != 0:
            place = progress.read_text() if progress.exists() else "start"
            for other in children:
                other.terminate()
            raise RuntimeError(f"recording ended with code {child.exitcode} in '{place}'; see NOT_RECORDABLE")
        share_found, share_problems = pickle.loads(result.read_bytes())
        problems += share_problems
        for op, records in share_found.items():
            known = found.setdefault(op, {})
            for key, record in records.items():
                known.setdefault(key, record)
    return found, problems


def _tried(candidates: list[Any], report: list[str]) -> list[Any]:
    """The candidates that are safe to call, those that run before those that throw; derived ones must run."""
    from corpus_probe import DIES, RUNS, THROWS, probe

    verdicts = probe(candidates)
    dead = sorted({record.op for record, verdict in zip(candidates, verdicts) if verdict == DIES})
    report += dead
    running = [record for record, verdict in zip(candidates, verdicts) if verdict == RUNS]
    # Recorded calls whose data matter (cholesky of a positive definite matrix): how they throw is worth comparing too.
    throwing = [r for r, verdict in zip(candidates, verdicts) if verdict == THROWS and not r.derived]
    return running + throwing


def _complete(found: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """The corpus: a few tried records of each recorded overload, then of the overloads that follow from those."""
    import torch

    from corpus_derive import derived_candidates, dispatcher_schemas, without_overwritten_ranges
    from corpus_layouts import first_of_each, layout_candidates
    from corpus_records import choose

    torch.set_num_threads(1)  # a forked child can't use its parent's thread pool
    deadly: list[str] = []
    chosen: dict[str, list[Any]] = {}
    recorded = [r for op in sorted(found) for r in choose(list(found[op].values()), CALLS_AN_OVERLOAD)]
    for record in _tried(recorded, deadly):
        chosen.setdefault(record.op, []).append(record)
    derived: dict[str, list[Any]] = {}
    for record in _tried(list(derived_candidates(chosen)), deadly):
        derived.setdefault(record.op, []).append(record)
    chosen |= {op: choose(records, DERIVED_AN_OVERLOAD) for op, records in derived.items()}
    layouts = list(layout_candidates(chosen))
    for record in first_of_each(layouts, _tried([record for _, record in layouts], deadly)):
        chosen[record.op].append(record)
    schemas = dispatcher_schemas()
    chosen = {op: [without_overwritten_ranges(r, schemas[op]) for r in records] for op, records in chosen.items()}
    if deadly:
        _say(f"dropped calls that crash or hang when their data are noise, of: {' '.join(deadly)}")
    return chosen


def _write(document: dict[str, Any], file: Path) -> None:
    """A reader, or a build that is stopped half-way, sees the whole file or none."""
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=file.parent, prefix=file.name, suffix=".part")
    try:
        with os.fdopen(descriptor, "w") as stream:
            head = {key: value for key, value in document.items() if key != "nodes"}
            lines = ",\n".join(json.dumps(node, separators=(",", ":")) for node in document["nodes"])
            stream.write(json.dumps(head)[:-1] + ', "nodes": [\n' + lines + "\n]}\n")
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("output", type=Path, help="the corpus to write, a JSON file")
    parser.add_argument("-v", "--verbose", action="store_true", help="list samples that could not be run")
    options = parser.parse_args()
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="flagos-corpus-") as folder:
        found, problems = _recorded(Path(folder))
    if options.verbose:
        for problem in problems:
            _say(problem)
    _say(f"{len(found)} overloads recorded in {time.monotonic() - started:.0f} s; trying them out")
    chosen = _complete(found)
    records = [record for op in sorted(chosen) for record in chosen[op]]
    from corpus_records import to_trace

    _write(to_trace(records), options.output)
    size = options.output.stat().st_size / 1e6
    _say(f"{len(records)} calls of {len(chosen)} overloads, {size:.1f} MB, {time.monotonic() - started:.0f} s")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, RuntimeError, ImportError) as error:
        sys.exit(f"record_corpus.py: {error}")
