"""Operators that a route sends to the CPU, the way a fallback takes: lists, optional lists and out= arrive as written.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the CPU itself.
"""

from __future__ import annotations

import os
import tempfile
import unittest

ROUTED = ("_foreach_add_.List", "_foreach_add_.Scalar", "_foreach_mul_.ScalarList", "_foreach_norm.Scalar",
          "index.Tensor", "index_put_", "index_put", "_index_put_impl_", "abs", "abs.out", "ne.Tensor", "eq.Tensor",
          "mul.Tensor", "add.out", "add_.Tensor", "max.dim_max", "cat", "cat.out", "addmv.out", "clone")
with tempfile.NamedTemporaryFile("w", suffix=".conf", delete=False) as file:
    file.writelines(f"{name} = cpu\n" for name in ROUTED)
os.environ["FLAGOS_BACKEND_CONFIG"] = file.name

import torch  # noqa: E402

import flagos  # noqa: E402

os.unlink(file.name)


class CpuRoute(unittest.TestCase):
    def same(self, call) -> None:
        """The call gives, and leaves in the tensors that it returns, what it does on the CPU."""
        expected, got = call("cpu"), call("flagos")
        self.assertEqual(len(expected), len(got))
        for left, right in zip(expected, got):
            self.assertEqual(right.device.type, "flagos")
            self.assertEqual((left.shape, left.stride(), left.dtype), (right.shape, right.stride(), right.dtype))
            self.assertTrue(torch.equal(left, right.cpu()), f"{left} {right}")

    def test_they_are_routed(self):
        counts = {name: each.refused.get("FP-ROUTE", 0) for name, each in flagos.stats().items()}
        x = torch.ones(2, device="flagos")
        torch.abs(x)
        torch._foreach_add_([x], 1)
        now = {name: each.refused.get("FP-ROUTE", 0) for name, each in flagos.stats().items()}
        for name in ("aten::abs", "aten::_foreach_add_.Scalar"):
            self.assertEqual(now[name] - counts.get(name, 0), 1, name)

    def test_lists_are_changed_in_place(self):
        def call(device):
            lists = [[torch.arange(3.0, device=device), torch.ones(2, 2, device=device).t(),
                      torch.empty(0, device=device)] for _ in range(3)]
            torch._foreach_add_(lists[0], lists[1], alpha=2)
            torch._foreach_add_(lists[1], 3)
            torch._foreach_mul_(lists[2], [1.0, 2.0, 3.0])
            return [t for each in lists for t in each] + list(torch._foreach_norm(lists[0][:2]))

        self.same(call)

    def test_views_in_a_list_change_what_they_are_views_of(self):
        def call(device):
            base = torch.arange(6.0, device=device)
            torch._foreach_add_([base[::2], base[1:2]], 10)
            return [base]

        self.same(call)

    def test_optional_lists_keep_none(self):
        def call(device):
            x, i = torch.arange(12.0, device=device).view(3, 4), torch.tensor([2, 0], device=device)
            picked = x[:, i]
            torch.ops.aten.index_put_(x, [None, i], torch.full((3, 2), 7.0, device=device))
            put = torch.ops.aten.index_put(x, [None, i], torch.ones(3, 2, device=device), True)
            return [picked, x, put, x[i, None]]

        self.same(call)

    def test_out_keeps_shape_and_gaps(self):
        def call(device):
            x = torch.tensor([[-1.0, 2.0], [float("inf"), -0.0]], device=device)
            out, strided, resized = torch.zeros(2, 2, device=device), torch.zeros(2, 4, device=device), torch.zeros(
                0, device=device)
            torch.abs(x, out=out)
            torch.abs(x, out=strided[:, ::2])
            torch.abs(x, out=resized)
            gaps = torch.zeros(4, device=device)
            torch.addmv(x[0], x[:, :2], x[0], out=gaps[::2])
            values, places = torch.zeros(2, device=device), torch.zeros(2, dtype=torch.long, device=device)
            torch.max(x, 1, out=(values, places))
            return [out, strided, resized, torch.isfinite(x), gaps, values, places, torch.cat([x, x])]

        self.same(call)

    def test_conj_and_neg_bits(self):
        def call(device):
            z = torch.tensor([1 + 2j, -3j], device=device)
            added = z.conj().clone().conj()
            added.add_(z.conj())
            return [z.conj().clone(), z.conj().imag.clone(), z.conj() * z, added.resolve_conj(),
                    torch.cat([z.conj(), z]), z.conj().imag.abs()]

        self.same(call)

    def test_a_resized_out_has_the_strides_of_the_inputs(self):
        def call(device):
            x = torch.arange(24.0, device=device).view(1, 2, 3, 4).to(memory_format=torch.channels_last)
            out = torch.empty(0, device=device)
            torch.add(x, x, out=out)
            return [out]

        self.same(call)

    def test_tensors_that_share_memory(self):
        def call(device):
            base = torch.arange(6.0, device=device)
            torch._foreach_add_([base[:4], base[2:], base], 1)
            torch._foreach_add_([base[:2], base[1:3]], [base[4:], base[4:]])
            return [base, base[::2]]

        self.same(call)

    def test_overlaps_are_refused_as_on_the_cpu(self):
        calls = {
            "part of out": lambda base: torch.abs(base[1:], out=base[:-1]),
            "self": lambda base: base[:1].expand(4).add_(1),
            "in place": lambda base: base[1:].add_(base[:-1]),
        }
        for name, call in calls.items():
            texts = []
            for device in ("cpu", "flagos"):
                base = torch.arange(5.0, device=device)
                with self.subTest(name, device=device), self.assertRaises(RuntimeError) as caught:
                    call(base)
                texts.append(str(caught.exception))
                self.assertTrue(torch.equal(base.cpu(), torch.arange(5.0)))
            self.assertEqual(*texts)

    def test_versions_count_as_on_the_cpu(self):
        versions = []
        for device in ("cpu", "flagos"):
            x, y, out = (torch.ones(2, 2, device=device) for _ in range(3))
            view = x[0]
            torch._foreach_add_([x, y], 1)
            view.add_(1)
            torch.abs(x, out=out)
            with torch.inference_mode():
                torch.ones(2, device=device).add_(1)
            versions.append([t._version for t in (x, view, y, out)])
        self.assertEqual(*versions)


if __name__ == "__main__":
    unittest.main()
