"""What Dynamo and AOTAutograd ask of a device: flagos' answers, by their own registries."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from flagos import device as flagos_device
from flagos import streams
from flagos._devices import DeviceLike, count, index_of, on_cuda


def register(device_interface: ModuleType) -> None:
    """Registers flagos; `device_interface` is torch._dynamo.device_interface."""

    class FlagosInterface(device_interface.DeviceInterface):  # type: ignore[misc, name-defined]
        device = flagos_device.device
        Event = streams.Event
        Stream = streams.Stream

        class Worker:
            """For inductor's processes that compile. None compiles for flagos: they see the target."""

            set_device = staticmethod(flagos_device.set_device)
            current_device = staticmethod(flagos_device.current_device)
            get_device_properties = staticmethod(flagos_device.get_device_properties)

        current_device = staticmethod(flagos_device.current_device)
        set_device = staticmethod(flagos_device.set_device)
        device_count = staticmethod(flagos_device.device_count)
        is_available = staticmethod(flagos_device.is_available)
        stream = staticmethod(flagos_device.stream)
        current_stream = staticmethod(flagos_device.current_stream)
        set_stream = staticmethod(flagos_device.set_stream)
        synchronize = staticmethod(flagos_device.synchronize)
        get_device_properties = staticmethod(flagos_device.get_device_properties)
        memory_allocated = staticmethod(flagos_device.memory_allocated)
        is_bf16_supported = staticmethod(flagos_device.is_bf16_supported)

        @staticmethod
        def exchange_device(index: int) -> int:
            return _exchange(index)

        @staticmethod
        def maybe_exchange_device(index: int) -> int:
            return _exchange(index)

        @staticmethod
        def _set_stream_by_id(stream_id: int, device_index: int, device_type: int) -> None:
            flagos_device.set_stream(torch.Stream(stream_id=stream_id, device_index=device_index, device_type=device_type))

        @staticmethod
        def get_raw_stream(index: int) -> int:
            return torch._C._cuda_getCurrentRawStream(index) if on_cuda() else 0

        @staticmethod
        def get_compute_capability(of: DeviceLike = None) -> Any:
            if not on_cuda():
                return ""
            return device_interface.CudaInterface.get_compute_capability(index_of(of))

        @staticmethod
        def is_triton_capable(of: DeviceLike = None) -> bool:
            """Compiled as the target, never for flagos."""
            return False

    device_interface.register_interface_for_device("flagos", FlagosInterface)
    for index in range(count()):
        device_interface.register_interface_for_device(f"flagos:{index}", FlagosInterface)


def trace_as_written(_: ModuleType) -> None:
    """Has tracing use PyTorch's decompositions of composite operators; called when torch._decomp has defined them.

    Where the library has a kernel of its own for a composite (dropout on the CPU target, say) that kernel would hide
    the decomposition in Python, which is what a graph of the target is traced by.
    """
    implicit, ours = torch._C.DispatchKey.CompositeImplicitAutograd, torch._C.DispatchKey.AutogradPrivateUse1
    packets = [value for value in vars(torch.ops.aten).values() if isinstance(value, torch._ops.OpOverloadPacket)]
    for packet in packets:
        for operator in (value for value in vars(packet).values() if isinstance(value, torch._ops.OpOverload)):
            if implicit not in operator.py_kernels or ours in operator.py_kernels:
                continue
            if torch._C._dispatch_has_kernel_for_dispatch_key(operator._name, "AutogradPrivateUse1"):
                operator.py_impl(ours)(operator.py_kernels[implicit])


def _exchange(index: int) -> int:
    """Makes a device current and returns which one was; a negative index changes nothing, as in torch.cuda."""
    before = flagos_device.current_device()
    flagos_device.set_device(index)
    return before
