"""Streams and events. They are the target's, with the same ids; the CPU target has one stream, which never waits."""

from __future__ import annotations

from types import TracebackType
from typing import Any

import torch

from flagos._devices import DeviceLike, index_of, is_negative, needs_cuda, on_cuda

__all__ = [
    "Event",
    "ExternalStream",
    "Stream",
    "StreamContext",
    "current_stream",
    "default_stream",
    "get_stream_from_external",
    "get_sync_debug_mode",
    "set_stream",
    "set_sync_debug_mode",
    "stream",
]


class _OnFlagos(type):
    """Metaclass of names for PyTorch's own class on this device: PyTorch takes no subclass of torch.Event for one."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.__mro__[1]) and getattr(instance, "device").type == "flagos"


class Stream(torch.Stream, metaclass=_OnFlagos):
    """A new stream of a device (None or a negative index: the current one). A lower priority is more urgent."""

    def __new__(  # type: ignore[misc]
        cls, device: DeviceLike = None, priority: int = 0, **identity: Any
    ) -> torch.Stream:
        if identity:  # stream_id, device_index and device_type name an existing stream
            return torch.Stream(priority=priority, **identity)
        index = index_of(None if is_negative(device) else device)
        return torch.Stream(device=torch.device("flagos", index), priority=priority)


class ExternalStream(Stream):
    """A stream that another library made, by its address (a cudaStream_t). Raises RuntimeError on the CPU target.

    The library keeps the stream alive while this is in use, and frees it.
    """

    def __new__(cls, stream_ptr: int, device: DeviceLike = None) -> torch.Stream:  # type: ignore[misc]
        return get_stream_from_external(stream_ptr, None if is_negative(device) else device)


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


def _existing(stream_id: int, index: int) -> torch.Stream:
    kind = torch._C._autograd.DeviceType.PrivateUse1.value
    return torch.Stream(stream_id=stream_id, device_index=index, device_type=kind)


def default_stream(device: DeviceLike = None) -> torch.Stream:
    return _existing(0, index_of(device))


def get_stream_from_external(data_ptr: int, device: DeviceLike = None) -> torch.Stream:
    """A stream of a device that another library made, by its address; see ExternalStream."""
    index = index_of(device)
    if not on_cuda():
        raise needs_cuda("a stream of another library")
    return _existing(torch.cuda.get_stream_from_external(data_ptr, index).stream_id, index)


def set_stream(stream: torch.Stream) -> None:
    """Makes a stream, and its device, current for the calling thread."""
    torch.accelerator.set_stream(stream)


_SYNC_DEBUG_MODES = {"default": 0, "warn": 1, "error": 2}


def set_sync_debug_mode(debug_mode: int | str) -> None:
    """Has calls that wait for the device warn ("warn" or 1) or raise ("error" or 2). None does on the CPU target."""
    if debug_mode not in (*_SYNC_DEBUG_MODES, *_SYNC_DEBUG_MODES.values()):
        raise RuntimeError(
            f'flagos: {debug_mode!r} is no mode. Set "default" (0), "warn" (1) or "error" (2).'
        )
    if on_cuda():
        torch.cuda.set_sync_debug_mode(debug_mode)


def get_sync_debug_mode() -> int:
    """The mode that set_sync_debug_mode() set; 0 on the CPU target."""
    return torch.cuda.get_sync_debug_mode() if on_cuda() else 0
