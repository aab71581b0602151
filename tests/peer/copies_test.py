"""Copies between devices, and to and from files.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import copy
import io
import pickle
import unittest
import warnings

import torch
from torch import nn

from target_case import DEVICE, NATIVE, Case, randn


class Copies(Case):
    def test_every_direction_and_dtype(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64):
            x = torch.arange(6).reshape(2, 3).to(dtype)
            with self.subTest(str(dtype)):
                y = x.to(DEVICE)
                self.assertTrue(torch.equal(y.cpu(), x))
                self.assertTrue(torch.equal(y.to(NATIVE).cpu(), x))
                self.assertTrue(torch.equal(y.t().to("cpu", non_blocking=True).contiguous() if NATIVE == "cpu" else y.t().cpu(), x.t()))
                self.assertTrue(torch.equal(x.to(NATIVE).to(DEVICE).cpu(), x))
                self.assertTrue(torch.equal(torch.empty_like(x).copy_(y), x))

    def test_memory_format_and_grad(self):
        def formats(d):
            x = randn(2, 3, 4, 4, device=d).requires_grad_()
            y = x.to(torch.float64, memory_format=torch.channels_last)
            return y, y.stride(), y.grad_fn is not None

        self.check(formats)

    def test_copies_on_the_device(self):
        def copies(d):
            whole = randn(4, 6, 2, 2, device=d)
            results = []
            for x in (whole, whole.transpose(0, 1), whole[:, ::2], whole[:1].expand(3, 6, 2, 2), whole[:0], whole.sum(),
                      whole.to(memory_format=torch.channels_last)):  # fmt: skip
                for y in (x.clone(), x.clone(memory_format=torch.contiguous_format), x.to(torch.bfloat16), x.to(torch.int32),
                          x.to(torch.float32, copy=True), x.to(torch.complex64)):  # fmt: skip
                    results += [y, y.stride(), y._version]
            with torch.inference_mode():
                frozen = randn(3, device=d)
                results += [frozen.clone(), frozen.double()]
            results += [frozen.clone()._version, frozen.double()._version, frozen.clone().requires_grad_().is_leaf]
            return results

        self.check(copies)

    # What a profiler sees inside clone() and _to_copy() is what it sees natively, and somebody else's kernel for them at
    # the target is the one that runs: neither may be lost to the fast path's shorter way.
    def test_copies_are_seen_and_can_be_replaced(self):
        def names(d):
            x = randn(3, device=d)
            x.clone(), x.double()
            with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU]) as profile:
                x.clone(), x.double()
            return [event.name for event in profile.events() if event.name.startswith("aten::")]

        self.assertEqual(names(DEVICE), names(NATIVE))
        x = randn(3, device=DEVICE)
        self.assertTrue(torch.equal(x.clone().cpu(), x.cpu()))
        library = torch.library.Library("aten", "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an operator's kernel is overridden, PyTorch warns
            library.impl("clone", lambda x, *, memory_format=None: torch.full_like(x, 7), NATIVE.upper())
        try:
            self.assertEqual(x.clone().tolist(), [7, 7, 7])
        finally:
            library._destroy()
        self.assertTrue(torch.equal(x.clone().cpu(), x.cpu()))

    def test_save_load_pickle_deepcopy(self):
        x = torch.arange(6.0, device=DEVICE).view(2, 3)
        module = nn.Linear(2, 2).to(DEVICE)
        buffer = io.BytesIO()
        torch.save({"x": x, "state": module.state_dict()}, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer)
        self.assertEqual(loaded["x"].device.type, DEVICE)
        self.assertEqual(loaded["state"]["weight"].device.type, DEVICE)
        self.assertTrue(torch.equal(loaded["x"].cpu(), x.cpu()))
        for location in ("cpu", DEVICE):
            buffer.seek(0)
            self.assertEqual(torch.load(buffer, map_location=location)["x"].device.type, location)
        for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertEqual(twin.device.type, DEVICE)
            self.assertTrue(torch.equal(twin.cpu(), x.cpu()))
        self.assertEqual(copy.deepcopy(module).weight.device.type, DEVICE)


if __name__ == "__main__":
    unittest.main()
