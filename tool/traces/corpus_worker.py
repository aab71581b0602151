"""Records one share of the corpus's units in a process of its own.

Two processes use both cores of a build machine, and a crash inside an operator costs one message that names the
operator, not a silent end of the build.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import sys
import tempfile
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

import torch
from torch.profiler import ExecutionTraceObserver

import corpus_calls
import corpus_samples
from corpus_records import Record, choose, exact_key, read_trace

CANDIDATES_AN_OVERLOAD = 60
SEED = 20260

Candidates = dict[str, dict[str, Record]]


@contextlib.contextmanager
def _observed(file: Path) -> Iterator[None]:
    observer = ExecutionTraceObserver()
    observer.register_callback(str(file))
    observer.start()
    try:
        yield
    finally:
        observer.stop()
        observer.unregister_callback()


@contextlib.contextmanager
def _without_stderr() -> Iterator[None]:
    """The observer and thousands of samples write warnings from C++, past Python's filters."""
    kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(null)


def _run_in_thread(unit: corpus_samples.Unit, problems: list[str]) -> None:
    """Runs a unit in a thread of its own.

    An operator that the observer chokes on (hash_tensor's uint64 ranges) leaves recording switched off in its thread;
    the next unit has a new thread, and with it new thread-local state.
    """

    def guarded() -> None:
        try:
            unit[1]()
        except Exception as error:  # samples of optional dependencies; the rest of the unit is recorded
            problems.append(f"{unit[0]}: {type(error).__name__}: {str(error)[:200]}")

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()


def _record_unit(unit: corpus_samples.Unit, trace: Path, found: Candidates, seen: set[int]) -> str | None:
    """Adds what one unit calls to `found`; the reason if there is nothing to add."""
    torch.manual_seed(SEED)
    problems: list[str] = []
    with _without_stderr(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with _observed(trace):
            _run_in_thread(unit, problems)
    try:
        for record in read_trace(trace, seen):
            found.setdefault(record.op, {}).setdefault(exact_key(record), record)
    except ValueError as error:
        return f"{unit[0]}: the observer wrote a trace that can't be read: {error}"
    return problems[0] if problems else None


def _prune(found: Candidates) -> None:
    """Bounds memory: addition and copies are called a hundred thousand times."""
    for op, records in found.items():
        if len(records) > 2 * CANDIDATES_AN_OVERLOAD:
            kept = choose(list(records.values()), CANDIDATES_AN_OVERLOAD)
            found[op] = {exact_key(record): record for record in kept}


def record_share(share: int, shares: int, result: Path, progress: Path) -> None:
    """Records every `shares`-th unit and pickles the candidates into `result`."""
    torch.set_num_threads(1)
    found: Candidates = {}
    seen: set[int] = set()
    problems = []
    units = (corpus_calls.units() + corpus_samples.units())[share::shares]
    with tempfile.TemporaryDirectory(prefix="flagos-corpus-") as folder:
        for index, unit in enumerate(units):
            progress.write_text(unit[0])
            if share == 0 and index % 25 == 0:
                print(f"corpus: {100 * index // len(units)}% ({unit[0]})", file=sys.stderr, flush=True)
            problem = _record_unit(unit, Path(folder) / "trace.json", found, seen)
            problems += [problem] if problem else []
            _prune(found)
    result.write_bytes(pickle.dumps((found, problems)))
