"""Conjugate and negative bits, zero tensors and views.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest

import torch

from target_case import NATIVE_BACKWARD, Case, randn


class Bits(Case):
    def test_conjugated_arguments(self):
        self.check(lambda d: randn(4, device=d, dtype=torch.complex64).conj() + 1)
        self.check(lambda d: randn(4, device=d, dtype=torch.complex64).conj().to(torch.complex128))
        self.check(lambda d: randn(4, device=d, dtype=torch.complex64).conj().imag.to(torch.float64))

    def test_copies_between_differing_bits(self):
        def conj_copy(d):
            dst, src = torch.zeros(4, dtype=torch.complex64, device=d), randn(4, device=d, dtype=torch.complex64)
            dst.conj().copy_(src)
            return dst

        def neg_copy(d):
            z = randn(4, device=d, dtype=torch.complex64)
            plain = torch.zeros(4, device=d)
            plain.copy_(z.conj().imag)
            z.conj().imag.copy_(torch.arange(4.0, device=d))
            return plain, z

        self.check(conj_copy)
        self.check(neg_copy)

    def test_copies_to_the_host_and_back_keep_bits_right(self):
        def through_host(d):
            z = randn(4, device=d, dtype=torch.complex64).conj()
            return z.cpu().resolve_conj(), z.imag.cpu().resolve_neg(), z.cpu().to(d).resolve_conj()

        self.check(through_host)

    def test_zero_tensors(self):
        def add(d):
            zero = torch._efficientzerotensor((3,), device=d)
            total = zero + torch.ones(3, device=d)
            total.add_(1)
            return total

        self.check(add)
        self.check_error(lambda d: torch._efficientzerotensor((3,), device=d).add_(1))

    def test_jvp_through_as_strided(self):
        def jvp(d):
            with torch.autograd.forward_ad.dual_level():
                dual = torch.autograd.forward_ad.make_dual(randn(6, device=d), randn(6, device=d, seed=4))
                out = dual.as_strided((2, 2), (1, 2), 1) * 2
                return torch.autograd.forward_ad.unpack_dual(out).tangent

        self.check(jvp)


class Views(Case):
    def test_unfold_aliases(self):
        def unfold(d):
            x = torch.zeros(4, device=d)
            u = x.unfold(0, 2, 1)
            x[1] = 5
            u[2, 1] = 7
            return x, u

        self.check(unfold)

    def test_every_view_aliases_and_tracks_versions(self):
        views = {
            "view": lambda x: x.view(4, 6), "as_strided": lambda x: x.as_strided((2, 2), (1, 2), 3),
            "view_dtype": lambda x: x.view(torch.int32), "transpose": lambda x: x.transpose(0, 1),
            "permute": lambda x: x.permute(2, 0, 1), "select": lambda x: x.select(1, 1), "slice": lambda x: x[:, 1:3],
            "squeeze": lambda x: x[:1].squeeze(), "squeeze_dim": lambda x: x[:1].squeeze(0),
            "squeeze_dims": lambda x: x[:1].squeeze((0,)), "unsqueeze": lambda x: x.unsqueeze(1),
            "expand": lambda x: x[:1].expand(5, 3, 4), "diagonal": lambda x: x.diagonal(0, 1, 2),
            "split": lambda x: x.split(2, 1)[0], "unbind": lambda x: x.unbind(0)[1], "chunk": lambda x: x.chunk(2)[1],
            "movedim": lambda x: x.movedim(0, 2), "detach": lambda x: x.detach(), "alias": lambda x: x.view_as(x),
            "flatten": lambda x: x.flatten(1), "narrow": lambda x: x.narrow(1, 0, 2), "t": lambda x: x[0].t(),
            "swapaxes": lambda x: x.swapaxes(0, 2), "unflatten": lambda x: x.unflatten(2, (2, 2)), "mT": lambda x: x.mT,
            "tensor_split": lambda x: x.tensor_split(2)[0], "hsplit": lambda x: x.hsplit(3)[1],
            "view_as_complex": lambda x: torch.view_as_complex(x.view(2, 3, 2, 2)),
            "reshape_alias": lambda x: torch.ops.aten._reshape_alias(x, (6, 4), (4, 1)), "lift": lambda x: torch.ops.aten.lift_fresh(x),
        }
        for name, make in views.items():
            with self.subTest(name):
                def both(d, make=make):
                    x = randn(2, 3, 4, device=d)
                    v = make(x)
                    before = v.clone()
                    x.mul_(2)
                    seen = v.clone()
                    v.zero_()
                    return (before, seen, x, v.stride(), v.storage_offset(), v._version, x._version, v._is_view(),
                            v.untyped_storage().data_ptr() == x.untyped_storage().data_ptr())

                self.check(both)

    def test_in_place_metadata(self):
        def change(d):
            x = randn(1, 3, 4, device=d)
            return [getattr(x.clone(), name)(*args) for name, args in (
                ("transpose_", (0, 1)), ("squeeze_", ()), ("squeeze_", (0,)), ("unsqueeze_", (0,)),
                ("as_strided_", ((2, 2), (1, 2))), ("resize_", (2, 2)), ("swapdims_", (0, 1)))] + [x[0].clone().t_()]

        self.check(change)

    def test_repeat_of_a_rotary_embedding(self):
        self.check(lambda d: torch.arange(4, device=d).repeat(3))
        self.check(lambda d: randn(2, 5, device=d)[:, :, None].repeat(1, 1, 2).flatten(1))

    def test_gradients_through_views(self):
        if not NATIVE_BACKWARD:
            self.skipTest("native backward needs its own process")

        def through(d):
            x = randn(4, 6, device=d).requires_grad_()
            y = x * 1
            y[1:3].transpose(0, 1).mul_(3)
            (y.view(3, 8).sum(0) ** 2).sum().backward()
            return x.grad

        self.check(through)


if __name__ == "__main__":
    unittest.main()
