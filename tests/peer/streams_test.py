"""Streams, devices and pinned memory under gradients and copies, on flagos against the target.

Faults that users of PrivateUse1 backends have reported. The CPU target has one stream and one device: what needs more
skips there.
"""

from __future__ import annotations

import unittest

import torch

import flagos  # noqa: F401
from target_case import Case, randn

DEVICE = torch.flagos


class Streams(Case):
    def test_two_streams_share_a_leaf(self):
        x = randn(256, 256, device="cpu")
        leaf = x.clone().requires_grad_()
        sum((leaf @ leaf.detach() * (i + 1)).sum() for i in range(2)).backward()
        for _ in range(5):
            ours = x.to("flagos").requires_grad_()
            parts = []
            for i in range(2):
                stream = DEVICE.Stream()
                stream.wait_stream(DEVICE.current_stream())
                with DEVICE.stream(stream):
                    parts.append((ours @ ours.detach() * (i + 1)).sum())
                DEVICE.current_stream().wait_stream(stream)
            (parts[0] + parts[1]).backward()
            torch.testing.assert_close(ours.grad.cpu(), leaf.grad, rtol=1e-3, atol=1e-2)


class Pinned(Case):
    def test_a_pinned_temporary_may_go_while_it_is_sent(self):
        sent = []
        for i in range(20):
            try:
                pinned = torch.full((1 << 16,), float(i)).pin_memory()
            except RuntimeError as error:  # the CPU target without CUDA has none
                self.skipTest(str(error).splitlines()[0])
            sent.append(pinned.to("flagos", non_blocking=True))
            del pinned
        for i, tensor in enumerate(sent):
            self.assertTrue(torch.equal(tensor.cpu(), torch.full((1 << 16,), float(i))))

    def test_a_copy_to_the_host_that_does_not_wait(self):
        x = torch.arange(float(1 << 16), device="flagos")
        host = (x * 2).to("cpu", non_blocking=True)
        torch.accelerator.synchronize()
        self.assertTrue(torch.equal(host, torch.arange(float(1 << 16)) * 2))


@unittest.skipIf(DEVICE.device_count() < 2, "needs two devices")
class SecondDevice(Case):
    def test_operators_run_where_their_tensors_are(self):
        with DEVICE.device(0):
            x = torch.arange(4.0, device="flagos:1")
            y = (x @ x + torch.ones(4, device="flagos:1")).cumsum(0)
            self.assertEqual(str(y.device), "flagos:1")
            self.assertEqual(y.cpu().tolist(), [15.0, 30.0, 45.0, 60.0])
            DEVICE.get_device_properties(1)
            DEVICE.memory_allocated(1)
            self.assertEqual(DEVICE.current_device(), 0)

    def test_devices_do_not_mix(self):
        with self.assertRaisesRegex(RuntimeError, "same device"):
            torch.ones(2, device="flagos:0") + torch.ones(2, device="flagos:1")


if __name__ == "__main__":
    unittest.main()
