"""Devices that don't exist or aren't flagos': an error that names what was given and what to give, and no harm done."""

from __future__ import annotations

import unittest
from collections.abc import Callable
from typing import Any

import torch

import flagos

DEVICE = torch.flagos
COUNT = DEVICE.device_count()
BEYOND = COUNT + 6

# Every function of torch.flagos that takes a device, by way of a call with one.
TAKERS: dict[str, Callable[[Any], Any]] = {
    name: lambda device, name=name: getattr(DEVICE, name)(device)
    for name in (
        "current_stream", "default_stream", "device_memory_used", "get_device_capability", "get_device_name",
        "get_device_properties", "get_rng_state", "max_memory_allocated", "max_memory_cached", "max_memory_reserved",
        "mem_get_info", "memory_allocated", "memory_cached", "memory_reserved", "memory_stats",
        "memory_stats_as_nested_dict", "memory_summary", "memory_usage", "power_draw", "clock_rate", "temperature",
        "utilization", "list_gpu_processes", "reset_accumulated_memory_stats", "reset_max_memory_allocated",
        "reset_max_memory_cached", "reset_peak_memory_stats", "synchronize", "get_per_process_memory_fraction",
        "set_device", "device", "Stream",
    )
}  # fmt: skip
TAKERS |= {
    "can_device_access_peer": lambda device: DEVICE.can_device_access_peer(0, device),
    "can_device_access_peer, first": lambda device: DEVICE.can_device_access_peer(device, 0),
    "set_rng_state": lambda device: DEVICE.set_rng_state(torch.get_rng_state(), device),
    "set_per_process_memory_fraction": lambda device: DEVICE.set_per_process_memory_fraction(1.0, device),
    "caching_allocator_alloc": lambda device: DEVICE.caching_allocator_alloc(1, device),
    "use_mem_pool": lambda device: DEVICE.use_mem_pool(None, device),
    "get_stream_from_external": lambda device: DEVICE.get_stream_from_external(0, device),
    "ExternalStream": lambda device: DEVICE.ExternalStream(0, device),
    "memory._snapshot": lambda device: DEVICE.memory._snapshot(device),
}
# By a negative index these mean the current device, as PyTorch's documentation says of torch.cuda's.
NEGATIVE_IS_CURRENT = {"set_device", "device", "Stream"}

# PyTorch's functions, to which flagos answers.
OF_TORCH: dict[str, Callable[[torch.device], Any]] = {
    "empty": lambda device: torch.empty(1, device=device),
    "zeros, no elements": lambda device: torch.zeros(0, device=device),
    "tensor": lambda device: torch.tensor([1.0], device=device),
    "rand": lambda device: torch.rand(2, device=device),
    "arange": lambda device: torch.arange(3, device=device),
    "sparse": lambda device: torch.sparse_coo_tensor([[0]], [1.0], (2,), device=device),
    "from the CPU": lambda device: torch.ones(1).to(device),
    "from flagos": lambda device: torch.ones(1, device="flagos").to(device),
    "new_empty": lambda device: torch.ones(1, device="flagos").new_empty(1, device=device),
    "empty_like": lambda device: torch.empty_like(torch.ones(1), device=device),
    "full_like": lambda device: torch.full_like(torch.ones(1, device="flagos"), 2, device=device),
    "empty_strided": lambda device: torch.empty_strided((2,), (1,), device=device),
    "module": lambda device: torch.nn.Linear(1, 1, device=device),
    "generator": lambda device: torch.Generator(device),
    "stream": lambda device: torch.Stream(device),
    "accelerator.set_device_index": lambda device: torch.accelerator.set_device_index(device),
    "accelerator.current_stream": lambda device: torch.accelerator.current_stream(device),
    "accelerator.device_index": lambda device: torch.accelerator.device_index(device.index).__enter__(),
}


class Case(unittest.TestCase):
    def setUp(self) -> None:
        self.before = DEVICE.current_device(), DEVICE.current_stream()

    def tearDown(self) -> None:
        self.assertEqual((DEVICE.current_device(), DEVICE.current_stream()), self.before)
        x = torch.ones(3, device="flagos")
        self.assertEqual(((x + 1).sum().item(), x.device.index), (6, self.before[0]))


class OfFlagos(Case):
    def refused(self, device: Any, text: str, takers: dict[str, Callable[[Any], Any]] = TAKERS) -> None:
        for name, call in takers.items():
            with self.subTest(name, device=device), self.assertRaisesRegex(ValueError, text):
                call(device)

    def test_one_that_does_not_exist(self) -> None:
        for device in (BEYOND, f"flagos:{BEYOND}", torch.device("flagos", BEYOND), 10**6):
            index = device if isinstance(device, int) else BEYOND
            self.refused(device, rf"^flagos: there is no device flagos:{index} \(FLAGOS_TARGET=\w+ has flagos:0 ")

    def test_a_negative_index(self) -> None:
        others = {name: call for name, call in TAKERS.items() if name not in NEGATIVE_IS_CURRENT}
        others.pop("ExternalStream")  # a stream class: the current device, as for Stream
        for device in (-1, -7):
            self.refused(device, rf"^flagos: there is no device flagos:{device} ", others)
            DEVICE.set_device(device)
            with DEVICE.device(device):
                self.assertEqual(DEVICE.current_device(), self.before[0])
            self.assertEqual(DEVICE.Stream(device).device.index, self.before[0])

    def test_another_device(self) -> None:
        for device in ("cpu", "cuda:0", torch.device("meta")):
            self.refused(device, f'^flagos: expected a flagos device, got {device}. Pass "flagos", "flagos:0" or 0.$')

    def test_what_is_no_device(self) -> None:
        for device, shown in ((0.0, "0.0 of type float"), (0.5, "0.5 of type float"), ([0], r"\[0\] of type list"),
                              (b"flagos", "b'flagos' of type bytes")):  # fmt: skip
            self.refused(device, rf'^flagos: expected a flagos device, .* got {shown}. Pass .*"flagos:0" or 0.$')

    def test_a_name_that_pytorch_does_not_understand(self) -> None:
        for device in ("flagos:-1", "flagos:x", "flagos:", "gpu", "", "flagos:99999999999"):
            self.refused(device, rf'^flagos: {device!r} names no device: .*Pass "flagos", "flagos:0" or 0.$')

    def test_the_current_device_has_many_names(self) -> None:
        expected = DEVICE.get_device_properties()
        for device in (None, "flagos", f"flagos:{self.before[0]}", torch.device("flagos"), self.before[0]):
            self.assertEqual(str(DEVICE.get_device_properties(device)), str(expected))
            self.assertEqual(DEVICE.Stream(device).device, torch.device("flagos", self.before[0]))


class OfTorch(Case):
    def test_one_that_does_not_exist(self) -> None:
        for index in (BEYOND, 120):
            for name, call in OF_TORCH.items():
                with self.subTest(name, index=index), self.assertRaisesRegex(
                    (RuntimeError, ValueError), rf"there is no device flagos:{index}\b.*flagos:0 "
                ):
                    call(torch.device("flagos", index))

    def test_index_zero_is_there(self) -> None:
        for name, call in OF_TORCH.items():
            with self.subTest(name):
                call(torch.device("flagos", 0))


if __name__ == "__main__":
    unittest.main()
