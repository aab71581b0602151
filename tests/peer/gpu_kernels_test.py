"""Kernels that others bring to the CUDA target: torch.cuda.jiterator and FlagGems. Skips without a GPU."""

from __future__ import annotations

import unittest
from typing import Any, Callable

import torch
from target_case import DEVICE, NATIVE, Case, randn
from torch.profiler import ProfilerActivity, profile

from flagos import routes

try:
    import flag_gems
except ImportError:
    flag_gems = None

CUDA = unittest.skipUnless(NATIVE == "cuda", "the target is not CUDA")
GPU = (torch.autograd.DeviceType.CUDA, torch.autograd.DeviceType.PrivateUse1)


def kernels(call: Callable[[], Any]) -> list[str]:
    """The names of the kernels that a second call launches; a first one may compile them."""
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as made:
        call()
        torch.cuda.synchronize()
    return [e.name for e in sorted((e for e in made.events() if e.device_type in GPU), key=lambda e: e.time_range.start)]


@CUDA
class JiteratorTest(Case):
    def test_one_result(self) -> None:
        code = "template <typename T> T scaled_sum(T x, T y, T alpha) { return x + alpha * y; }"
        function = torch.cuda.jiterator._create_jit_fn(code, alpha=1.0)
        for alpha in (1.0, 2.5):
            self.check(lambda d: function(randn(3, 4, device=d), randn(4, device=d, seed=5), alpha=alpha))
        self.check(lambda d: function(randn(4, 4, device=d).t(), randn(4, 4, device=d)[::2].repeat(2, 1)))
        self.check(lambda d: function(randn(0, device=d), randn(0, device=d)))

    def test_several_results(self) -> None:
        code = """template <typename T> void sum_and_product(T x, T y, T& sum, T& product) {
            sum = x + y; product = x * y; }"""
        function = torch.cuda.jiterator._create_multi_output_jit_fn(code, 2)
        self.check(lambda d: function(randn(3, device=d), randn(3, device=d, seed=5)))

    def test_errors(self) -> None:
        function = torch.cuda.jiterator._create_jit_fn("template <typename T> T twice(T x) { return x + x; }")
        self.check_error(lambda d: function(torch.ones(2, device=d), torch.ones(3, device=d)))


@CUDA
@unittest.skipIf(flag_gems is None, "flag_gems is not installed")
class FlagGemsTest(Case):
    """A routed operator runs FlagGems' kernel, and gives what FlagGems gives for CUDA tensors; others run CUDA's."""

    # By operator; with the name of FlagGems' function.
    ROUTED: dict[str, tuple[str, Callable[[torch.Tensor, torch.Tensor], torch.Tensor]]] = {
        "add.Tensor": ("add", lambda x, y: x + y),
        "mul.Tensor": ("mul", lambda x, y: x * y),
        "mm": ("mm", lambda x, y: x @ y),
        "_softmax": ("softmax", lambda x, y: torch.softmax(x, -1)),
        "gelu": ("gelu", lambda x, y: torch.nn.functional.gelu(x)),
        "exp_": ("exp_", lambda x, y: x.clone().exp_()),
        "cat": ("cat", lambda x, y: torch.cat([x, y], 1)),
        "sum.dim_IntList": ("sum_dim", lambda x, y: x.sum(1)),
    }

    @classmethod
    def setUpClass(cls) -> None:
        routes.use_flaggems()

    def setUp(self) -> None:
        self.addCleanup(routes.clear_routes)

    def test_routed_operators(self) -> None:
        x, y = (randn(128, 128, device=NATIVE, seed=seed) for seed in (1, 2))
        for op, (function, call) in self.ROUTED.items():
            with self.subTest(op):
                native = kernels(lambda: call(x, y))
                with flag_gems.use_gems(include=[function]):
                    expected, theirs = call(x, y).cpu(), kernels(lambda: call(x, y))
                self.assertNotEqual(native, theirs)
                routes.set_route(op if "." in op else f"{op}.default", "flaggems")
                a, b = x.to(DEVICE), y.to(DEVICE)
                got = call(a, b)
                self.assertEqual(got.device.type, DEVICE)
                self.assertTrue(torch.equal(got.cpu(), expected))
                self.assertEqual(kernels(lambda: call(a, b)), theirs)
                routes.clear_routes()
                self.assertEqual(kernels(lambda: call(a, b)), native)

    def test_a_routed_operator_trains(self) -> None:
        routes.set_route("_softmax.default", "flaggems")
        x = randn(16, 32, device=DEVICE).requires_grad_()
        (torch.softmax(x, -1) * randn(16, 32, device=DEVICE, seed=4)).sum().backward()
        u = randn(16, 32, device="cpu").requires_grad_()
        (torch.softmax(u, -1) * randn(16, 32, device="cpu", seed=4)).sum().backward()
        torch.testing.assert_close(x.grad.cpu(), u.grad)


if __name__ == "__main__":
    unittest.main()
