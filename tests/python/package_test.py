"""The package flagos and the device module torch.flagos. Expected values are the target's own."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
import unittest

import torch
import torch.utils.checkpoint
import torch.utils.data
from torch.utils.dlpack import from_dlpack, to_dlpack

import flagos

DEVICE = torch.flagos


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


class ImportTest(unittest.TestCase):
    def test_is_silent_and_idempotent(self) -> None:
        done = python("import flagos, importlib; importlib.reload(flagos); flagos._autoload()")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_disabled_leaves_torch_alone(self) -> None:
        done = python("import flagos, torch; print(hasattr(torch, 'flagos'), flagos.disabled())", FLAGOS_DISABLE="1")
        self.assertEqual(done.stdout.strip(), "False True", done.stderr)

    def test_error_of_the_library_is_an_import_error(self) -> None:
        done = python("import flagos", FLAGOS_TARGET="nonsense")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("ImportError: flagos: FLAGOS_TARGET", done.stderr)

    def test_missing_library_names_the_variable(self) -> None:
        done = python("import flagos", FLAGOS_LIBRARY="/nonexistent.so")
        self.assertIn("ImportError: flagos: FLAGOS_LIBRARY=/nonexistent.so", done.stderr)

    def test_second_privateuse1_backend_is_refused(self) -> None:
        done = python("import torch; torch.utils.rename_privateuse1_backend('other'); import flagos")
        self.assertIn('another PrivateUse1 backend, "other"', done.stderr)


class DeviceTest(unittest.TestCase):
    def test_methods_are_generated(self) -> None:
        x = torch.ones(2).flagos()
        self.assertTrue(x.is_flagos)
        self.assertEqual(torch.nn.Linear(2, 2).flagos().weight.device.type, "flagos")

    def test_counts_agree_with_torch_accelerator(self) -> None:
        self.assertEqual(DEVICE.device_count(), torch.accelerator.device_count())
        self.assertEqual(DEVICE.current_device(), torch.accelerator.current_device_index())
        self.assertTrue(torch.accelerator.is_available())
        self.assertIs(torch.get_device_module("flagos"), DEVICE)

    def test_wrong_devices_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "expected a flagos device, got cpu"):
            DEVICE.set_device("cpu")
        with self.assertRaisesRegex(ValueError, "no device flagos:99"):
            DEVICE.synchronize(99)

    def test_device_guard_restores_current_device(self) -> None:
        before = DEVICE.current_device()
        with DEVICE.device(DEVICE.device_count() - 1), DEVICE.device_of(torch.ones(1)):
            self.assertEqual(DEVICE.current_device(), DEVICE.device_count() - 1)
        self.assertEqual(DEVICE.current_device(), before)

    def test_properties_of_the_target(self) -> None:
        properties = DEVICE.get_device_properties()
        self.assertTrue(properties.name)
        self.assertGreater(properties.total_memory, 0)
        self.assertEqual(DEVICE.get_device_name("flagos:0"), DEVICE.get_device_properties(0).name)

    def test_memory_statistics(self) -> None:
        x = torch.ones(1024, device="flagos")
        expected = torch.cuda.memory_allocated(0) if flagos.target() == "cuda" else 0
        self.assertEqual(DEVICE.memory_allocated(x.device), expected)
        DEVICE.empty_cache()
        free, total = DEVICE.mem_get_info()
        self.assertTrue(0 < free <= total)
        if flagos.target() == "cpu":
            self.assertEqual(total, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
            self.assertEqual(DEVICE.memory_snapshot(), [])
            self.assertIn("keeps no statistics", DEVICE.memory_summary())
            with self.assertRaisesRegex(RuntimeError, r"get_device_capability\(\) is not available on the CPU target"):
                DEVICE.get_device_capability()

    def test_accelerator_memory_functions(self) -> None:
        self.assertEqual(torch.accelerator.memory_allocated(), DEVICE.memory_allocated())
        torch.accelerator.empty_cache()
        torch.accelerator.reset_peak_memory_stats()

    def test_pinned_memory_is_known_again(self) -> None:
        plain = torch.arange(4.0)
        pinned = plain.pin_memory()
        self.assertTrue(pinned.is_pinned())
        self.assertFalse(plain.is_pinned())
        self.assertTrue(torch.equal(pinned.to("flagos", non_blocking=True).cpu(), plain))
        loader = torch.utils.data.DataLoader(plain, batch_size=2, pin_memory=True)
        self.assertTrue(all(batch.is_pinned() for batch in loader))


class HooksTest(unittest.TestCase):
    """What PyTorch and its users ask of a device module by name."""

    def test_checkpointing_restores_the_random_state(self) -> None:
        self.assertTrue(DEVICE._initialized)  # else checkpoint does not save the device's state
        gradients = []
        for wrap in (lambda f, x: f(x), lambda f, x: torch.utils.checkpoint.checkpoint(f, x, use_reentrant=False)):
            torch.manual_seed(3)
            x = torch.randn(64, device="flagos", requires_grad=True)
            wrap(lambda y: torch.nn.functional.dropout(y, 0.5) * y, x).sum().backward()
            gradients.append(x.grad.cpu())
        self.assertTrue(torch.equal(*gradients))

    def test_amp(self) -> None:
        x = torch.randn(4, 4, device="flagos")
        with DEVICE.amp.autocast(dtype=torch.bfloat16):
            self.assertEqual((x @ x).dtype, torch.bfloat16)
        self.assertEqual((x @ x).dtype, torch.float32)
        scaler = DEVICE.amp.GradScaler(init_scale=8.0)
        self.assertEqual(scaler.scale(torch.ones(1, device="flagos")).item(), 8.0)

    def test_what_only_cuda_has(self) -> None:
        self.assertEqual(hasattr(DEVICE, "current_blas_handle"), flagos.target() == "cuda")
        self.assertFalse(DEVICE.is_current_stream_capturing())
        self.assertIsNone(DEVICE.ipc_collect())
        self.assertFalse(DEVICE._is_in_bad_fork())

    def test_version_is_the_projects(self) -> None:
        version = flagos._library.library().flagos_version().decode()
        self.assertEqual(flagos.__version__, version)


class RandomTest(unittest.TestCase):
    def test_manual_seed_gives_the_targets_numbers(self) -> None:
        torch.manual_seed(7)
        ours = torch.rand(8, device="flagos").cpu()
        torch.manual_seed(7)
        theirs = torch.rand(8, device=flagos.target()).cpu()
        self.assertTrue(torch.equal(ours, theirs))

    def test_state_round_trip(self) -> None:
        states = DEVICE.get_rng_state_all()
        first = torch.rand(4, device="flagos").cpu()
        DEVICE.set_rng_state_all(states)
        self.assertTrue(torch.equal(first, torch.rand(4, device="flagos").cpu()))

    def test_fork_rng_restores(self) -> None:
        state = DEVICE.get_rng_state()
        with torch.random.fork_rng(device_type="flagos"):
            torch.rand(4, device="flagos")
        self.assertTrue(torch.equal(state, DEVICE.get_rng_state()))


class StreamTest(unittest.TestCase):
    def test_stream_context_restores(self) -> None:
        before = DEVICE.current_stream()
        stream = DEVICE.Stream()
        self.assertIsInstance(stream, torch.Stream)
        self.assertIsInstance(stream, DEVICE.Stream)
        self.assertNotIsInstance(torch.Event("cpu"), DEVICE.Event)
        with DEVICE.stream(stream):
            self.assertEqual(DEVICE.current_stream(), stream)
        self.assertEqual(DEVICE.current_stream(), before)

    def test_event_orders_streams(self) -> None:
        event = DEVICE.Event()
        DEVICE.current_stream().record_event(event)
        stream = DEVICE.Stream()
        stream.wait_event(event)
        event.record(stream)
        DEVICE.current_stream().wait_stream(stream)
        event.synchronize()
        self.assertTrue(event.query())

    def test_recorded_event_has_an_identity(self) -> None:
        first, second = DEVICE.Event(), DEVICE.Event()
        self.assertEqual(first.event_id, 0)
        first.record()
        second.record()
        identity = first.event_id
        self.assertEqual(len({0, identity, second.event_id}), 3)
        first.record()
        self.assertEqual(first.event_id, identity)

    def test_events_tell_the_time_between_them(self) -> None:
        before, after = DEVICE.Event(enable_timing=True), DEVICE.Event(enable_timing=True)
        before.record()
        begin = time.perf_counter()
        x = torch.ones(64, 64, device="flagos")
        while time.perf_counter() - begin < 0.02:
            x = x @ x / 64
        if flagos.target() == "cpu":
            enclosed = 1000 * (time.perf_counter() - begin)
        after.record()
        after.synchronize()
        ms = before.elapsed_time(after)
        self.assertLess(ms, 60_000)
        self.assertEqual(after.elapsed_time(before), -ms)
        if flagos.target() == "cpu":
            self.assertGreaterEqual(ms, enclosed)
        with self.assertRaisesRegex(ValueError, "enable_timing=True"):
            before.elapsed_time(DEVICE.Event())


class DLPackTest(unittest.TestCase):
    """A tensor over memory that somebody else names flagos: its storage says so, until it is used."""

    def setUp(self) -> None:
        self.x = torch.arange(12.0, device="flagos").view(3, 4)

    def test_round_trip_shares_memory(self) -> None:
        for part in (self.x, self.x[1:, ::2], self.x.t(), self.x[0, 0], self.x[:0]):
            made = from_dlpack(to_dlpack(part))
            self.assertEqual((made.device, made.dtype, made.shape), (part.device, part.dtype, part.shape))
            self.assertTrue(torch.equal(made + 1, part + 1))
            made.mul_(2)
            self.assertTrue(torch.equal(made.cpu(), part.cpu()))

    def test_memory_outlives_its_first_tensor(self) -> None:
        made = from_dlpack(to_dlpack(torch.full((1000,), 3.0, device="flagos")))
        torch.full((1000,), 5.0, device="flagos")  # would take the memory if it were free
        self.assertEqual(made.sum().item(), 3000.0)

    def test_first_use_may_be_anything(self) -> None:
        expected = self.x.cpu()

        def saved(made: torch.Tensor) -> torch.Tensor:
            file = io.BytesIO()
            torch.save(made, file)
            file.seek(0)
            return torch.load(file)

        uses = {
            "view": lambda made: made.view(4, 3).view(3, 4) + 0,
            "argument": lambda made: torch.zeros(3, 4, device="flagos").add_(made),
            "list": lambda made: torch.cat([made, made])[:3],
            "in place": lambda made: made.add_(0),
            "out": lambda made: torch.add(self.x, 0, out=made),
            "set_": lambda made: torch.empty(0, device="flagos").set_(made),
            "copy to the CPU": lambda made: made.cpu(),
            "save": saved,
            "gradients": lambda made: made.requires_grad_().mul(1).detach(),
            "attention": lambda made: torch.nn.functional.scaled_dot_product_attention(made, made, made) * 0 + self.x,
        }
        for name, use in uses.items():
            with self.subTest(name):
                self.assertTrue(torch.equal(use(from_dlpack(to_dlpack(self.x))).cpu(), expected))


class SwitchTest(unittest.TestCase):
    def tearDown(self) -> None:
        flagos.set_redispatch_enabled(True)

    def test_switch_changes_no_result(self) -> None:
        x = torch.randn(16, 16, device="flagos")
        on = (x @ x).cpu()
        flagos.set_redispatch_enabled(False)
        self.assertFalse(flagos.redispatch_enabled())
        self.assertTrue(torch.equal(on, (x @ x).cpu()))


if __name__ == "__main__":
    unittest.main()
