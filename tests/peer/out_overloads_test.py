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

    @unittest.skipUnless(NATIVE == "cpu", "the CPU alone looks at q, since other devices would have to wait")
    def test_quantile_looks_at_q(self):
        for function in (torch.quantile, torch.nanquantile):
            for q, out_dtype in ((2.0, torch.float32), (float("nan"), torch.float32), (0.5, torch.float64)):
                with self.subTest(f"{function.__name__} {q} {out_dtype}"):
                    texts = []
                    for device in DEVICES:
                        x, out = torch.arange(3.0, device=device), torch.zeros(1, dtype=out_dtype, device=device)
                        with self.assertRaises(RuntimeError) as caught:
                            function(x, torch.tensor([q], device=device), out=out)
                        texts.append(str(caught.exception))
                        self.assertEqual(out.cpu().tolist(), [0])
                    self.assertEqual(*texts)

    def test_quantile_into_strided_and_empty_outputs(self):
        for function in (torch.quantile, torch.nanquantile):
            for name, make in {"strided": lambda d: torch.full((4,), 9.0, device=d)[::2],
                               "to resize": lambda d: torch.empty(0, device=d)}.items():
                with self.subTest(f"{function.__name__} {name}"):
                    found = []
                    for device in DEVICES:
                        x, q, out = torch.tensor([3.0, 1, 2]), torch.tensor([0.2, 1.0]), make(device)
                        self.assertIs(function(x.to(device), q.to(device), out=out), out)
                        base = out if out._base is None else out._base
                        found.append((base.cpu().tolist(), out.stride()))
                    self.assertEqual(*found)


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
