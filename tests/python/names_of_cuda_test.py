"""torch.flagos against torch.cuda, torch.xpu and torch.mtia: each public name is there, or in a table with a reason."""

from __future__ import annotations

import importlib
import inspect
import unittest
from types import ModuleType
from unittest import mock

import torch
import torch.cuda.amp
import torch.mtia
import torch.xpu

import flagos
from flagos import _devices, _names_of_cuda

DEVICE = torch.flagos
ON_CPU = flagos.target() == "cpu"

# Names of torch.cuda without a place in its __all__ that its documentation has.
_DOCUMENTED = ("AcceleratorError", "OutOfMemoryError", "gds", "green_contexts")


def public(module: ModuleType) -> set[str]:
    return set(module.__all__)


class Names(unittest.TestCase):
    """A new torch with a new function fails here: add the function to python/flagos, or its reason to ABSENT."""

    def missing(self, names: set[str], ours: ModuleType) -> set[str]:
        table = _names_of_cuda.ABSENT.keys() | (_names_of_cuda.CUDA_ONLY if ON_CPU else set())
        return {name for name in names - table if not hasattr(ours, name)}

    def test_each_name_of_a_device_module_is_there_or_has_a_reason(self) -> None:
        for module in (torch.cuda, torch.xpu, torch.mtia):
            with self.subTest(module.__name__):
                self.assertEqual(self.missing(public(module), DEVICE), set())
        self.assertEqual(self.missing(set(_DOCUMENTED), DEVICE), set())

    def test_each_name_of_a_submodule_is_in_ours(self) -> None:
        for name in ("amp", "graphs", "memory", "random"):
            theirs = importlib.import_module(f"torch.cuda.{name}")
            with self.subTest(name):
                self.assertEqual(self.missing(public(theirs), getattr(DEVICE, name)), set())
        streams = {name for name, value in vars(torch.cuda.streams).items() if inspect.isclass(value)}
        self.assertEqual(self.missing(streams, DEVICE.streams), set())

    def test_submodules_can_be_imported(self) -> None:
        for name in ("amp", "graphs", "memory", "random", "streams"):
            self.assertIs(importlib.import_module(f"torch.flagos.{name}"), getattr(DEVICE, name))

    def test_the_tables_name_nothing_that_is_there(self) -> None:
        self.assertEqual([name for name in _names_of_cuda.ABSENT if hasattr(DEVICE, name)], [])
        self.assertEqual([name for name in _names_of_cuda.CUDA_ONLY if hasattr(DEVICE, name) == ON_CPU], [])
        self.assertEqual([name for name in _names_of_cuda.CUDA_ONLY if not hasattr(torch.cuda, name)], [])

    def test_each_public_name_of_ours_exists(self) -> None:
        self.assertEqual([name for name in DEVICE.__all__ if not hasattr(DEVICE, name)], [])
        self.assertEqual(len(set(DEVICE.__all__)), len(DEVICE.__all__))

    def test_an_absent_name_says_why(self) -> None:
        with self.assertRaisesRegex(AttributeError, "'torch.flagos' has no attribute 'FloatTensor': .*device=\"flagos\""):
            DEVICE.FloatTensor
        with self.assertRaisesRegex(AttributeError, "'torch.flagos' has no attribute 'nonsense'$"):
            DEVICE.nonsense
        if ON_CPU:
            with self.assertRaisesRegex(AttributeError, "no attribute 'cudart' on the CPU target$"):
                DEVICE.cudart


def parameters(function: object) -> list[str]:
    """By name, in order; those that take whatever comes are left out."""
    taken = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [name for name, each in inspect.signature(function).parameters.items() if each.kind not in taken]


class Signatures(unittest.TestCase):
    def test_functions_take_what_those_of_cuda_take(self) -> None:
        for name in sorted(public(torch.cuda)):
            theirs, ours = getattr(torch.cuda, name), getattr(DEVICE, name, None)
            if not inspect.isfunction(theirs) or not inspect.isfunction(ours):
                continue
            kinds = {each.kind for each in inspect.signature(ours).parameters.values()}
            if inspect.Parameter.VAR_KEYWORD in kinds:
                continue
            with self.subTest(name):
                self.assertEqual(parameters(ours)[: len(parameters(theirs))], parameters(theirs))


class Delegation(unittest.TestCase):
    """What the functions ask of torch.cuda on the CUDA target, seen without one: by stand-ins with its signatures."""

    # Of those that take a device; each is called with it alone where it needs no more.
    arguments = {
        "can_device_access_peer": (0, 0),
        "caching_allocator_alloc": (64, 0, 17),
        "get_stream_from_external": (4096, 0),
        "set_per_process_memory_fraction": (0.5, 0),
        "set_rng_state": (torch.zeros(8, dtype=torch.uint8), 0),
        "use_mem_pool": ("pool", 0),
        "manual_seed": (3,),
        "manual_seed_all": (3,),
        "caching_allocator_delete": (4096,),
        "set_sync_debug_mode": ("warn",),
    }
    # They ask PyTorch's accelerator, which is flagos, in torch.cuda's place; or they make an object.
    of_the_accelerator = {"current_device", "current_stream", "default_stream", "device_count", "get_device_name",
                          "get_rng_state_all", "init", "is_available", "is_initialized", "make_graphed_callables",
                          "set_device", "set_rng_state_all", "set_stream", "stream", "synchronize"}  # fmt: skip

    def test_each_function_asks_the_one_of_its_name_for_the_same_device(self) -> None:
        names = {name for name in public(torch.cuda) & set(DEVICE.__all__) if inspect.isfunction(getattr(DEVICE, name))}
        older = {"max_memory_cached": "max_memory_reserved", "memory_cached": "memory_reserved",
                 "reset_max_memory_allocated": "reset_peak_memory_stats",
                 "reset_max_memory_cached": "reset_peak_memory_stats"}  # fmt: skip
        for name in sorted(names - self.of_the_accelerator):
            theirs = mock.create_autospec(getattr(torch.cuda, older.get(name, name)))
            theirs.return_value = mock.MagicMock(stream_id=0)
            function = getattr(DEVICE, name)
            given = self.arguments.get(name, (0,) if parameters(function)[:1] == ["device"] else ())
            with (
                self.subTest(name),
                mock.patch.object(_devices, "target", return_value="cuda"),
                mock.patch.object(torch.cuda, "device_count", return_value=1),
                mock.patch.object(torch.cuda, older.get(name, name), theirs),
            ):
                function(*given)
                theirs.assert_called_once()
                self.assertEqual(theirs.call_args.args[: len(given)], given)


@unittest.skipUnless(ON_CPU, "of the CPU target")
class CpuTarget(unittest.TestCase):
    """As PyTorch's documentation has it of a device without the feature: nothing counted, nothing to do."""

    def test_statistics_are_zeros_under_the_names_that_cuda_has(self) -> None:
        stats = DEVICE.memory_stats()
        self.assertEqual(stats, torch.accelerator.memory_stats())
        self.assertEqual(stats["allocated_bytes.all.current"], 0)
        self.assertEqual(set(stats.values()), {0})
        self.assertEqual(DEVICE.memory_stats_as_nested_dict()["reserved_bytes"]["all"]["peak"], 0)
        for name in ("allocated", "reserved", "cached"):
            self.assertEqual(getattr(DEVICE, f"memory_{name}")(), 0)
            self.assertEqual(getattr(DEVICE, f"max_memory_{name}")("flagos:0"), 0)
        self.assertEqual((DEVICE.host_memory_stats(), DEVICE.host_memory_stats_as_nested_dict()), ({}, {}))
        self.assertEqual(DEVICE.memory_snapshot(mempool_id=(0, 0), include_traces=False), [])

    def test_resets_do_nothing(self) -> None:
        for name in DEVICE.__all__:
            if name.startswith("reset_"):
                self.assertIsNone(getattr(DEVICE, name)(), name)
        DEVICE.caching_allocator_enable(False)

    def test_there_is_no_limit_and_no_mode(self) -> None:
        self.assertEqual(DEVICE.get_per_process_memory_fraction(), 1.0)
        for mode in ("default", "warn", 2):
            DEVICE.set_sync_debug_mode(mode)
        self.assertEqual(DEVICE.get_sync_debug_mode(), 0)
        for mode in ("loud", 3):
            with self.assertRaisesRegex(RuntimeError, rf'flagos: {mode!r} is no mode. Set "default" \(0\)'):
                DEVICE.set_sync_debug_mode(mode)

    def test_memory_in_use_is_the_machines(self) -> None:
        self.assertTrue(0 < DEVICE.device_memory_used() < DEVICE.mem_get_info()[1])

    def test_what_only_a_gpu_can_answer_says_so(self) -> None:
        calls = {
            "utilization": (), "memory_usage": (), "temperature": (), "power_draw": (), "clock_rate": (),
            "list_gpu_processes": (), "get_device_capability": (), "get_allocator_backend": (),
            "caching_allocator_alloc": (64,), "caching_allocator_delete": (0,), "caching_allocator_enable": (),
            "set_per_process_memory_fraction": (0.5,), "use_mem_pool": (None,), "get_stream_from_external": (0,),
            "ExternalStream": (0,), "attach_out_of_memory_observer": (print,), "snapshot": (),
            "record_memory_history": (), "CUDAGraph": (), "graph_pool_handle": (),
        }  # fmt: skip
        for name, arguments in calls.items():
            with self.subTest(name), self.assertRaisesRegex(
                RuntimeError, r"^flagos: .* is not available on the CPU target \(FLAGOS_TARGET\)"
            ):
                getattr(DEVICE, name)(*arguments)


class Errors(unittest.TestCase):
    def test_are_pytorchs_own(self) -> None:
        self.assertIs(DEVICE.OutOfMemoryError, torch.cuda.OutOfMemoryError)
        self.assertIs(DEVICE.AcceleratorError, torch.cuda.AcceleratorError)


class Amp(unittest.TestCase):
    def test_decorators_of_a_function_cast_as_those_of_cuda(self) -> None:
        seen = []

        class Product(torch.autograd.Function):
            @staticmethod
            @DEVICE.amp.custom_fwd(cast_inputs=torch.bfloat16)
            def forward(ctx, x, y):
                ctx.save_for_backward(x, y)
                seen.append((x.dtype, torch.is_autocast_enabled("flagos")))
                return x @ y

            @staticmethod
            @DEVICE.amp.custom_bwd
            def backward(ctx, grad):
                x, y = ctx.saved_tensors
                return grad @ y.t(), x.t() @ grad

        x = torch.randn(3, 3, device="flagos", requires_grad=True)
        with torch.autocast("flagos", torch.bfloat16):
            made = Product.apply(x, x)
        made.float().sum().backward()
        self.assertEqual((seen, made.dtype), ([(torch.bfloat16, False)], torch.bfloat16))
        self.assertEqual(x.grad.device.type, "flagos")


if __name__ == "__main__":
    unittest.main()
