"""Operators of others, and tensors of others' modes.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest
import warnings

import torch

from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn


class Custom(Case):
    @classmethod
    def setUpClass(cls):
        cls.library = torch.library.Library("flagos_cases", "FRAGMENT")
        cls.library.define("twice(Tensor x) -> Tensor")
        cls.library.define("bump(Tensor(a!) x, Tensor(b!)[] ys) -> ()")
        cls.library.define("only_meta(Tensor x) -> Tensor")
        cls.library.define("keep(Tensor x) -> Tensor")
        cls.library.define("fail(Tensor(a!) x) -> ()")
        cls.kept = []

        def fail(x):
            raise ValueError("on purpose")

        cls.library.impl("keep", lambda x: cls.kept.append(x) or x * 2, NATIVE.upper())
        cls.library.impl("fail", fail, NATIVE.upper())
        key = NATIVE.upper()
        cls.library.impl("twice", lambda x: x * 2, key)

        def bump(x, ys):
            x.add_(1)
            for y in ys:
                y.mul_(2)

        cls.library.impl("bump", bump, key)

    def test_third_party_operator_runs_boxed(self):
        self.check(lambda d: torch.ops.flagos_cases.twice(randn(3, device=d)))

        def bump(d):
            x, ys = torch.ones(2, device=d), [torch.ones(2, device=d), torch.ones(3, device=d)]
            torch.ops.flagos_cases.bump(x, ys)
            return x, ys

        self.check(bump)

    def test_python_kernel_keeps_its_argument(self):
        x = torch.arange(4.0, device=DEVICE)
        for _ in range(3):
            self.assertTrue(torch.equal(torch.ops.flagos_cases.keep(x).cpu(), torch.arange(4.0) * 2))
        self.assertEqual({k.device.type for k in self.kept}, {NATIVE})
        self.assertEqual(len({id(k) for k in self.kept}), 3)
        x.add_(1)
        torch.ones(5, 5, device=DEVICE) @ torch.ones(5, 5, device=DEVICE)
        del x
        for kept in self.kept:
            self.assertTrue(torch.equal(kept.cpu(), torch.arange(4.0) + 1))

    def test_python_kernel_that_raises_leaves_its_argument(self):
        x = torch.arange(4.0, device=DEVICE)
        version = x._version
        for _ in range(3):
            with self.assertRaisesRegex(ValueError, "on purpose"):
                torch.ops.flagos_cases.fail(x)
        self.assertEqual((x._version, x.device.type), (version, DEVICE))
        self.assertTrue(torch.equal((x + 1).cpu(), torch.arange(4.0) + 1))

    def test_no_kernel_is_a_clear_error(self):
        with self.assertRaisesRegex(NotImplementedError, "flagos_cases::only_meta.*no kernel"):
            torch.ops.flagos_cases.only_meta(torch.ones(2, device=DEVICE))


    def test_gradients_of_an_operator_without_an_autograd_kernel(self):
        self.library.define("mixed(Tensor x, Tensor?[] ys, Tensor[] zs, float a) -> (Tensor, Tensor)")
        self.library.impl("mixed", lambda x, ys, zs, a: ((x * ys[1]).sin() * a, (zs[0] @ zs[1]).detach()), NATIVE.upper())

        def run(d):
            x, y = (randn(3, device=d, seed=s).requires_grad_() for s in (1, 2))
            z = randn(3, 3, device=d)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                wave, product = torch.ops.flagos_cases.mixed(x * 2, [None, y], [z, z], 0.5)
                if not NATIVE_BACKWARD and d == NATIVE:
                    return wave.requires_grad, product.requires_grad, "", None, None
                gradients = torch.autograd.grad(wave.exp().sum(), (x, y), create_graph=True)
                second = torch.autograd.grad(sum(g.sum() for g in gradients), (x, y))
            warned = any("autograd kernel was not registered" in str(w.message) for w in caught)
            with torch.no_grad():
                self.assertFalse(torch.ops.flagos_cases.mixed(x, [None, y], [z, z], 1.0)[0].requires_grad)
            return wave.requires_grad, product.requires_grad, warned, gradients, second

        if NATIVE_BACKWARD:
            self.check(run, exact=False)  # second derivatives are added up in another order
        got, expected = run(DEVICE), run("cpu") if NATIVE == "cpu" else None
        self.assertEqual(got[:2], run(NATIVE)[:2])
        if expected is not None:
            self.assertEqual(got[2], expected[2])
            for left, right in zip(got[3], expected[3]):
                self.assertTrue(torch.equal(left.cpu(), right))

    def test_an_autograd_kernel_of_the_operators_own_is_what_counts(self):
        self.library.define("own(Tensor x) -> Tensor")
        self.library.impl("own", lambda x: x * 3, NATIVE.upper())
        torch.library.register_autograd("flagos_cases::own", lambda context, g: g * 100, lib=self.library)
        x = torch.ones(2, device=DEVICE, requires_grad=True)
        torch.ops.flagos_cases.own(x).sum().backward()
        self.assertTrue(torch.equal(x.grad.cpu(), torch.full((2,), 100.0)))


class Tracing(Case):
    def test_fake_and_meta_tensors(self):
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode() as mode:
            fake = mode.from_tensor(torch.ones(2, 3, device=DEVICE))
            out = (fake.t() + 1).reshape(6) @ torch.ones(6, device=DEVICE)
            self.assertEqual((out.device.type, out.shape), (DEVICE, ()))
        self.assertEqual(torch.ones(2, device=DEVICE).to("meta").device.type, "meta")
        self.assertEqual(torch.empty_like(torch.ones(2, device=DEVICE), device="meta").shape, (2,))

    def test_compile_without_code_generation(self):
        for backend in ("eager", "aot_eager"):
            with self.subTest(backend):
                torch._dynamo.reset()

                def step(x):
                    return (x.t().reshape(-1)[1:] + 1).sin().sum()

                compiled = torch.compile(step, backend=backend)
                x = torch.randn(3, 4, device=DEVICE, requires_grad=True)
                y = compiled(x)
                y.backward()
                self.assertTrue(torch.equal(y.detach().cpu(), step(x).detach().cpu()))
                self.assertEqual(x.grad.device.type, DEVICE)

    def test_functionalization_and_vmap(self):
        self.check(lambda d: torch.func.functionalize(lambda x: x.add_(1).view(-1).mul_(2))(randn(2, 3, device=d)))
        self.check(lambda d: torch.vmap(lambda x, y: x @ y + x.sum())(randn(4, 3, 3, device=d), randn(4, 3, 3, device=d)))
        if NATIVE_BACKWARD:
            self.check(lambda d: torch.func.grad(lambda x: (x.sin() * x).sum())(randn(4, device=d)))


if __name__ == "__main__":
    unittest.main()
