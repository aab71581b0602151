"""Arguments that live elsewhere: indices and scalars on the host, generators.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest

import torch
import torch.nn.functional as F
from torch import nn

from target_case import DEVICE, NATIVE, Case, randn


class Indices(Case):
    def test_cpu_index(self):
        self.check(lambda d: randn(2, 3, 4, device=d)[:, torch.arange(3), torch.tensor([0, 3, 1])])

        def put(d):
            x = randn(3, 4, device=d)
            x[torch.tensor([0, 2])] = torch.ones(2, 4, device=d)
            torch.ops.aten.index_put_(x, [None, torch.tensor([1])], torch.zeros(3, 1, device=d), True)
            return x

        self.check(put)

    def test_out_of_range_index_leaves_the_tensor(self):
        if NATIVE != "cpu":
            self.skipTest("an out-of-range index on CUDA ends the context")

        def caught(d):
            q = randn(3, 4, device=d)
            with self.assertRaises(IndexError):
                q[torch.tensor([7])]
            return q, q + 1

        self.check(caught)

    def test_bincount(self):
        values = torch.tensor([3, 0, 3, 1])
        weights = torch.tensor([0.5, 0.25, 1.0, -2.0])
        for dtype in (torch.uint8, torch.int32, torch.int64):
            for size in (0, 7):
                self.check(lambda d, t=dtype, n=size: torch.bincount(values.to(t).to(d), minlength=n))
                self.check(lambda d, t=dtype, n=size: torch.bincount(
                    values.to(t).to(d), weights.double().to(d), minlength=n))
        self.check(lambda d: torch.bincount(torch.empty(0, dtype=torch.long, device=d), minlength=2))
        self.check_error(lambda d: torch.bincount(torch.tensor([-1], device=d)))
        self.check_error(lambda d: torch.bincount(values.to(d), weights[:2].to(d)))
        self.check_error(lambda d: torch.bincount(torch.ones(2, 2, dtype=torch.long, device=d)))

    def test_scalar_bounds_on_the_host(self):
        def clamp(d):
            return randn(5, device=d).clamp_(min=torch.tensor(-0.1), max=torch.tensor(0.3))

        if NATIVE == "cpu":
            self.check(clamp)
        else:
            self.check_error(clamp)
        self.check(lambda d: randn(5, device=d).clamp_(min=-0.1).maximum(torch.tensor(0.2)))
        self.check(lambda d: randn(5, device=d) * torch.tensor(2.0))

    def test_device_mismatch_is_the_usual_error(self):
        with self.assertRaisesRegex(RuntimeError, "[Ee]xpected all tensors to be on the same device"):
            torch.dot(torch.ones(3, device=DEVICE), torch.ones(3))
        with self.assertRaisesRegex(RuntimeError, "[Ee]xpected all tensors to be on the same device"):
            torch.ones(3, device=DEVICE) + torch.ones(3)


    def test_arguments_that_the_kernel_reads_on_the_host(self):
        def scaled(d):
            lists = [[randn(3, device=d, seed=s), randn(2, 2, device=d, seed=s + 9)] for s in range(3)]
            factors = torch.tensor([2.0, -0.5])
            results = torch._foreach_addcmul(*lists, factors) + torch._foreach_addcdiv(*lists, factors)
            torch._foreach_addcmul_(*lists, factors)
            torch._foreach_addcdiv_(*lists, factors)
            return results, lists[0]

        self.check(scaled)
        self.check(lambda d: (torch.zeros(4, device=d).bernoulli_(torch.tensor([0.0, 1.0, 1.0, 0.0])),
                              torch.ops.aten.bernoulli.Tensor(torch.zeros(2, device=d), torch.tensor([1.0, 0.0]))))

    def test_only_those_arguments_may_be_on_the_host(self):
        x, index = torch.zeros(3, device=DEVICE), torch.tensor([0, 2])
        lists = [[torch.ones(2, device=DEVICE)] for _ in range(2)]
        calls = {
            "values": lambda: torch.ops.aten.index_put_(x, [index], torch.ones(2)),
            "tensor1": lambda: torch._foreach_addcmul_(*lists, [torch.ones(2)], torch.tensor([2.0])),
        }
        for argument, call in calls.items():
            with self.subTest(argument), self.assertRaisesRegex(RuntimeError, "device"):
                call()
        self.assertTrue(torch.equal(x.cpu(), torch.zeros(3)))


class Random(Case):
    def test_generators(self):
        def draw(d):
            g = torch.Generator(device=d).manual_seed(5)
            return (torch.rand(4, generator=g, device=d), torch.empty(4, device=d).normal_(generator=g),
                    torch.randperm(6, generator=g, device=d), torch.randint(9, (4,), generator=g, device=d),
                    torch.multinomial(torch.ones(5, device=d), 3, generator=g))

        self.check(draw)

    def test_manual_seed_reaches_every_op(self):
        self.check(lambda d: [torch.manual_seed(1) and None, F.dropout(torch.ones(50, device=d)), torch.randn(3, device=d),
                              torch.bernoulli(torch.full((9,), 0.5, device=d)), nn.Dropout(0.3)(torch.ones(9, device=d)),
                              F.rrelu(randn(9, device=d), training=True), torch.poisson(torch.ones(9, device=d))])

    def test_seeds_and_states_meet(self):
        torch.flagos.manual_seed(3)
        first = torch.rand(3, device=DEVICE)
        torch.manual_seed(3)
        self.assertTrue(torch.equal(first, torch.rand(3, device=DEVICE)))
        state = torch.flagos.get_rng_state()
        again = torch.rand(3, device=DEVICE)
        torch.flagos.set_rng_state(state)
        self.assertTrue(torch.equal(again, torch.rand(3, device=DEVICE)))


if __name__ == "__main__":
    unittest.main()
