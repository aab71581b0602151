"""out= overloads under autograd, and zero tensors: what flagos's results carry is what the target's carry."""

from __future__ import annotations

import unittest

import torch

import flagos

NATIVE = flagos.target()
DEVICES = (NATIVE, "flagos")
aten = torch.ops.aten


class OutOverloads(unittest.TestCase):
    def test_autograd_sees_inside_those_of_composites(self):
        """Their functional overloads are CompositeImplicit, so autograd records what they call."""
        calls = {
            "avg_pool1d": (lambda x, out: aten.avg_pool1d.out(x, [2], out=out), (1, 2, 3)),
            "adaptive_avg_pool1d": (lambda x, out: aten.adaptive_avg_pool1d.out(x, [2], out=out), (1, 2, 2)),
            "upsample_nearest2d": (
                lambda x, out: aten.upsample_nearest2d.vec_out(x[None], [4, 8], None, out=out), (1, 1, 4, 8)),
            "upsample_bilinear2d": (
                lambda x, out: aten.upsample_bilinear2d.vec_out(x[None], [4, 8], True, None, out=out), (1, 1, 4, 8)),
        }
        for name, (call, shape) in calls.items():
            with self.subTest(name):
                found = []
                for device in DEVICES:
                    x = torch.arange(12.0).reshape(1, 2, 6).to(device).requires_grad_()
                    out = torch.empty(shape, device=device)
                    returned = call(x, out)
                    self.assertIs(returned, out)
                    found.append((type(out.grad_fn).__name__, out.requires_grad, out._version, out.detach().cpu()))
                self.assertEqual(found[0][:3], found[1][:3])
                self.assertEqual(found[0][0], "CopyBackwards")
                self.assertTrue(torch.equal(found[0][3], found[1][3]))


class ZeroTensors(unittest.TestCase):
    def test_results_and_views_of_them_are_on_flagos(self):
        x, zero = torch.ones(3, device="flagos"), torch._efficientzerotensor(3, device="flagos")
        calls = {
            "dot": lambda: torch.dot(x, zero), "vdot": lambda: torch.vdot(zero, x),
            "inner": lambda: torch.inner(x, zero), "tensordot": lambda: torch.tensordot(zero, x, 1),
            "vecdot": lambda: torch.linalg.vecdot(x, zero),
        }
        for name, call in calls.items():
            with self.subTest(name):
                made = call()
                self.assertTrue(made._is_zerotensor())
                for tensor in (made, made.view(1), made.unsqueeze(0), made.expand(2)):
                    self.assertEqual(tensor.device, x.device)
                self.assertEqual((made + x).cpu().tolist(), [1, 1, 1])


if __name__ == "__main__":
    unittest.main()
