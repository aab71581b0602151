"""The parent's side of a worker: starts it, hears its answers, and turns a crash or a hang into an answer."""

from __future__ import annotations

import json
import mmap
import os
import selectors
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Iterator

from call_source import Call

HANGS_AFTER = 10.0  # seconds without an answer; four arms of a small call take milliseconds
_ARMS = ("target", "target again", "on", "off")


class Child:
    """One worker at a time; a crash ends it and the next request starts another."""

    def __init__(self) -> None:
        self._file = tempfile.NamedTemporaryFile(prefix="fuzz-progress-")
        self._file.write(bytes(16))
        self._file.flush()
        self._progress = mmap.mmap(self._file.fileno(), 16)
        self._process: subprocess.Popen | None = None
        self._pending = b""

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._progress.close()
        self._file.close()

    @property
    def pid(self) -> int | None:
        """The worker's, while there is one."""
        return self._process.pid if self._process is not None else None

    def _end(self) -> int:
        if self._process is None:
            return 0
        self._process.kill() if self._process.poll() is None else None
        code = self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            try:
                pipe.close()
            except OSError:  # what was not written can't be any more
                pass
        self._process, self._pending = None, b""
        return code

    def _send(self, request: dict[str, Any]) -> None:
        if self._process is None:
            self._errors = tempfile.TemporaryFile()
            command = [sys.executable, str(Path(__file__).with_name("worker.py")), self._file.name]
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, "TORCH_CPP_LOG_LEVEL": "ERROR", "FLAGOS_FALLBACK": "allow", "MKL_CBWR": "COMPATIBLE"})
            self._process.stderr = self._errors
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()

    def _lines(self, first: float) -> Iterator[bytes]:
        """Lines as they come; ends when the worker does or is silent for too long."""
        limit = first
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while True:
                *lines, self._pending = self._pending.split(b"\n")
                yield from lines
                until = time.monotonic() + limit
                if not selector.select(max(0.0, until - time.monotonic())):
                    return
                data = os.read(self._process.stdout.fileno(), 1 << 16)
                if not data:
                    return
                self._pending += data
                limit = HANGS_AFTER

    def answers(self, request: dict[str, Any]) -> Iterator[dict]:
        """The answers to one request; the last of one that broke off has outcome "crash" or "hang"."""
        self._progress[:] = struct.pack("<qq", -1, 0)
        self._send(request)
        for line in self._lines(first=120.0):
            answer = json.loads(line)
            if answer.get("done"):
                return
            yield answer
        hung = self._process.poll() is None and not self._exits_soon()
        code = self._end()
        number, arm = struct.unpack("<qq", self._progress[:])
        name = _ARMS[arm] if arm < len(_ARMS) else "between calls"
        what = "hang" if hung else "crash"
        how = f"no answer for {HANGS_AFTER:.0f} s" if hung else signal.Signals(-code).name if code < 0 else f"exit code {code}"
        yield {"number": number, "outcome": what, "arm": name, "kind": what, "detail": f"{how} in arm {name}"}

    def _exits_soon(self) -> bool:
        try:
            self._process.wait(2)
            return True
        except subprocess.TimeoutExpired:
            return False

    def judge(self, call: Call) -> dict:
        """The answer to one call."""
        *_, last = self.answers({"calls": [call]})
        return last
