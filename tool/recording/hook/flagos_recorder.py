"""Records an execution trace of this process, for `flagos-diag record`. See sitecustomize.py.

Note [The window]: a step begins when a module that is in no other module's forward is called, and lasts until the next
one begins: forward, backward and optimizer of a training loop. Recording begins when torch has been imported. When the
first step that is wanted begins it begins anew, and what was before is dropped; so a script that ends early, or that
calls no module, is recorded from its start. It ends before the step after the last one that is wanted, at a limit of
time or size, or with the process. A limit that is met before that first step does not end it: it begins anew there.

Note [Processes]: each process writes PID.json and, as it ends, PID.status, which says what became of it. A forked child
shares its parent's open file, so it takes that away from itself and is not recorded.
"""

from __future__ import annotations

import atexit
import importlib.util
import json
import os
import sys
import threading
import time
from typing import Any

_WATCH_SECONDS = 0.05
_SETTLE_SECONDS = 0.01  # callbacks that other threads are in when recording stops


class Recorder:
    """The window, and the observer within it. Steps are those of the thread that makes the first one."""

    def __init__(self, folder: str) -> None:
        self.file = os.path.join(folder, f"{os.getpid()}.json")
        self.status_file = os.path.join(folder, f"{os.getpid()}.status")
        self.skip = int(os.environ["FLAGOS_RECORD_SKIP_STEPS"])
        self.wanted = int(os.environ["FLAGOS_RECORD_STEPS"])
        self.seconds = float(os.environ["FLAGOS_RECORD_MAX_SECONDS"])
        self.size = float(os.environ["FLAGOS_RECORD_MAX_MB"]) * 1e6
        self.pid = os.getpid()
        self.started = 0.0
        self.steps = 0
        self.depth = 0
        self.thread: int | None = None
        self.ended = ""  # why recording stopped: "steps", "seconds", "size"; empty: with the process
        self.error = ""
        self.observer: Any = None
        self.hooks: list[Any] = []
        self.lock = threading.RLock()

    def begin(self) -> None:
        """torch has just been imported."""
        from torch.nn.modules import module as modules

        self.start()
        self.hooks = [
            modules.register_module_forward_pre_hook(self.enter),
            modules.register_module_forward_hook(self.leave, always_call=True),
        ]
        threading.Thread(target=self.watch_limits, name="flagos-record", daemon=True).start()
        os.register_at_fork(after_in_child=self.forget)

    def start(self) -> None:
        from torch.profiler import ExecutionTraceObserver

        self.observer = ExecutionTraceObserver()
        self.observer.register_callback(self.file)
        self.observer.start()
        self.started = time.monotonic()

    def stop(self) -> None:
        """Completes the file."""
        observer, self.observer = self.observer, None
        if observer is not None:
            observer.stop()
            time.sleep(_SETTLE_SECONDS)
            observer.unregister_callback()

    def end(self, why: str) -> None:
        with self.lock:
            if self.observer is not None:
                self.ended = why
                self.stop()

    def enter(self, module: Any, inputs: Any) -> None:
        import torch

        if torch.compiler.is_compiling():
            return
        self.thread = self.thread or threading.get_ident()
        if threading.get_ident() != self.thread:
            return
        self.depth += 1
        if self.depth == 1:
            self.step()

    def leave(self, module: Any, inputs: Any, output: Any) -> None:
        import torch

        if not torch.compiler.is_compiling() and threading.get_ident() == self.thread:
            self.depth -= 1

    def step(self) -> None:
        """A step begins."""
        with self.lock:
            if self.steps > self.skip and self.ended:  # by a limit, within the window
                self.remove_hooks()
            elif self.steps == self.skip + self.wanted:
                self.end("steps")
                self.remove_hooks()
            else:
                if self.steps == self.skip:
                    self.stop()
                    self.ended = ""
                    self.start()
                self.steps += 1

    def remove_hooks(self) -> None:
        while self.hooks:
            self.hooks.pop().remove()

    def watch_limits(self) -> None:
        while self.hooks:
            time.sleep(_WATCH_SECONDS)
            if self.observer is None:
                continue
            if time.monotonic() - self.started > self.seconds:
                self.end("seconds")
            elif os.path.getsize(self.file) > self.size:
                self.end("size")

    def forget(self) -> None:
        """In a forked child."""
        self.lock = threading.RLock()
        if self.observer is None:
            return
        observer, self.observer = self.observer, None
        observer.stop()
        observer._registered = False  # its end would complete the parent's file
        null = os.open(os.devnull, os.O_WRONLY)
        for descriptor in os.listdir("/proc/self/fd"):
            link = f"/proc/self/fd/{descriptor}"
            if os.path.exists(link) and os.path.realpath(link) == self.file:
                os.dup2(null, int(descriptor))
        os.close(null)

    def finish(self) -> None:
        if os.getpid() != self.pid:
            return
        with self.lock:
            try:
                self.stop()
            except Exception as error:
                self.error = self.error or f"{type(error).__name__}: {error}"
            self.write_status()

    def write_status(self) -> None:
        torch = sys.modules.get("torch")
        status = {
            "pid": self.pid,
            "python": sys.executable,
            "command": " ".join(sys.orig_argv),
            "torch": getattr(torch, "__version__", None) and str(getattr(torch, "__version__")),
            "has_torch": torch is not None or importlib.util.find_spec("torch") is not None,
            "steps": self.steps,
            "skipped": min(self.steps, self.skip) if self.steps > self.skip else 0,
            "ended": self.ended,
            "error": self.error,
        }
        partial = self.status_file + ".part"
        with open(partial, "w", encoding="utf-8") as file:
            json.dump(status, file)
        os.replace(partial, self.status_file)


_recorder: Recorder | None = None


def watch(folder: str) -> None:
    """Called as Python starts: prepares to record into `folder`, and to say at the end what became of this process."""
    global _recorder
    _recorder = Recorder(folder)
    atexit.register(_recorder.finish)


def begin() -> None:
    """Called when torch has been imported. A failure to record is told at the end and does not stop the program."""
    assert _recorder is not None
    try:
        _recorder.begin()
    except Exception as error:
        _recorder.error = f"{type(error).__name__}: {error}"
