"""Streams and events. They are the target's, with the same ids; the CPU target has one stream, which never waits."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from flagos._devices import DeviceLike, index_of


class _OnFlagos(type):
    """Metaclass of names for PyTorch's own class on this device: PyTorch takes no subclass of torch.Event for one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1]) and getattr(instance, "device").type == "flagos"


class Stream(torch.Stream, metaclass=_OnFlagos):
    """A new stream of a device (the current one when None). A lower priority number is more urgent."""

    def __new__(  # type: ignore[misc]
        cls, device: DeviceLike = None, priority: int = 0, **identity: Any
    ) -> torch.Stream:
        if identity:  # stream_id, device_index and device_type name an existing stream
            return torch.Stream(priority=priority, **identity)
        return torch.Stream(device=torch.device("flagos", index_of(device)), priority=priority)


class Event(torch.Event, metaclass=_OnFlagos):
    """An event of the current device. Timing is off unless asked for, as in torch.cuda."""

    def __new__(  # type: ignore[misc]
        cls, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False
    ) -> torch.Event:
        return torch.Event("flagos", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)


class StreamContext:
    """Makes a stream, and its device, current within a `with` block; None changes nothing."""

    def __init__(self, stream: torch.Stream | None) -> None:
        self.stream = stream
        self._previous: list[tuple[int, torch.Stream]] = []

    def __enter__(self) -> torch.Stream | None:
        if self.stream is not None:
            index = torch.accelerator.current_device_index()
            self._previous.append((index, torch.accelerator.current_stream(self.stream.device)))
            torch.accelerator.set_stream(self.stream)
        return self.stream

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.stream is not None:
            index, stream = self._previous.pop()
            torch.accelerator.set_stream(stream)
            torch.accelerator.set_device_index(index)


def stream(stream: torch.Stream | None) -> StreamContext:
    return StreamContext(stream)


def current_stream(device: DeviceLike = None) -> torch.Stream:
    return torch.accelerator.current_stream(index_of(device))


def default_stream(device: DeviceLike = None) -> torch.Stream:
    index = index_of(device)
    kind = torch.Stream(device=torch.device("flagos", index)).device_type
    return torch.Stream(stream_id=0, device_index=index, device_type=kind)


def set_stream(stream: torch.Stream) -> None:
    """Makes a stream, and its device, current for the calling thread."""
    torch.accelerator.set_stream(stream)
