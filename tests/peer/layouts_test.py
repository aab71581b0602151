"""Memory formats and strides.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest

import torch
import torch.nn.functional as F
from torch import nn

from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn


class Layouts(Case):
    def test_group_norm_of_every_layout(self):
        layouts = {
            "contiguous": lambda x: x, "transposed": lambda x: x.transpose(2, 3), "sliced": lambda x: x[:, :, 1:, 1:],
            "channels_last": lambda x: x.contiguous(memory_format=torch.channels_last),
        }
        for name, lay in layouts.items():
            with self.subTest(name):
                def norm(d, lay=lay):
                    x = lay(randn(2, 4, 5, 5, device=d)).detach().requires_grad_(NATIVE_BACKWARD)
                    y = F.group_norm(x, 2, randn(4, device=d), randn(4, device=d))
                    if NATIVE_BACKWARD:
                        (y * y).sum().backward()
                    return y, x.grad

                self.check(norm, exact=False)
        self.check(lambda d: torch.vmap(lambda x: F.group_norm(x, 2))(randn(3, 2, 4, 5, device=d)), exact=False)

    def test_group_norm_reads_no_memory_that_is_not_its_own(self):
        def norm(d):
            weight, bias = torch.ones(1, device=d).expand(4), torch.zeros(1, device=d).expand(4)
            return torch.native_group_norm(randn(2, 4, 5, device=d), weight, bias, 2, 4, 5, 2, 1e-5)

        expected = torch.native_group_norm(randn(2, 4, 5, device=NATIVE), torch.ones(4, device=NATIVE),
                                           torch.zeros(4, device=NATIVE), 2, 4, 5, 2, 1e-5)
        for got, wanted in zip(norm(DEVICE), expected):
            self.assertTrue(torch.equal(got.cpu(), wanted.cpu()))

    def test_legacy_empty_in_cat(self):
        self.check(lambda d: torch.cat([torch.empty(0, device=d), randn(2, 3, device=d)]))
        self.check(lambda d: torch.cat([torch.empty(0, device=d), randn(2, 3, device=d)], out=torch.empty(0, device=d)))
        self.check(lambda d: torch.cat([randn(2, 3, device=d), torch.empty(0, device=d, dtype=torch.float32)], 1))

    def test_strided_out(self):
        def addmv(d):
            base = torch.full((6,), -1.0, device=d)
            torch.addmv(randn(3, device=d), randn(3, 3, device=d), randn(3, device=d), out=base[::2])
            return base

        self.check(addmv)

    def test_batch_norm_without_running_stats(self):
        def norm(d):
            x = randn(4, 3, 5, device=d)
            return F.batch_norm(x, None, None, training=True), x

        self.check(norm)

    def test_batch_norm_updates_running_stats(self):
        def norm(d):
            layer = nn.BatchNorm2d(3).to(d)
            y = layer(randn(4, 3, 5, 5, device=d))
            layer.eval()
            return y, layer(randn(4, 3, 5, 5, device=d)), layer.running_mean, layer.running_var, layer.num_batches_tracked

        self.check(norm)


if __name__ == "__main__":
    unittest.main()
