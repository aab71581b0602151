"""The target's choice of attention kernel, and of dtypes under autocast.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest

import torch
import torch.nn.functional as F
from torch import nn

from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn


class Attention(Case):
    def attention(self, dtype, exact=True, backward=NATIVE_BACKWARD, **options):
        def run(d):
            q, k, v = (randn(2, 3, 8, 16, device=d, dtype=torch.float32, seed=s).to(dtype).requires_grad_(backward)
                       for s in range(3))
            kwargs = {name: value.to(d) if isinstance(value, torch.Tensor) else value for name, value in options.items()}
            out = F.scaled_dot_product_attention(q, k, v, **kwargs)
            if backward:
                out.float().sum().backward()
            return out, q.grad, k.grad, v.grad

        return self.check(run, exact=exact)

    def test_choices(self):
        mask = torch.rand(8, 8) > 0.3
        mask[:, 0] = True
        for dtype in (torch.float32, torch.bfloat16, torch.float16):
            for options in ({}, {"is_causal": True}, {"attn_mask": mask}):
                with self.subTest(f"{dtype} {list(options)}"):
                    self.attention(dtype, **options)

    def test_dropout(self):
        for dtype in (torch.float32, torch.bfloat16):
            self.attention(dtype, dropout_p=0.5)

    def test_the_targets_backend_is_chosen(self):
        def choice(d):
            q, k, v = (randn(2, 3, 8, 16, device=d, seed=s) for s in range(3))
            return torch._fused_sdp_choice(q, k, v)

        self.check(choice)

    @unittest.skipUnless(NATIVE == "cpu", "attention under transforms is PyTorch's math there")
    def test_transforms(self):
        def summed(q, k, v):
            return F.scaled_dot_product_attention(q, k, v).sum()

        calls = {
            "grad": lambda *qkv: torch.func.grad(summed, argnums=(0, 1, 2))(*qkv),
            "grad by one": lambda *qkv: torch.func.grad(summed, argnums=1)(*qkv),
            "vmap": lambda *qkv: torch.vmap(F.scaled_dot_product_attention)(*(t[None].repeat(2, 1, 1, 1, 1) for t in qkv)),
            "vmap of grad": lambda *qkv: torch.vmap(torch.func.grad(summed))(*(t[None] for t in qkv)),
            "functionalize": lambda *qkv: torch.func.functionalize(F.scaled_dot_product_attention)(*qkv),
        }
        for name, call in calls.items():
            with self.subTest(name):
                self.check(lambda d, call=call: call(*(randn(2, 3, 8, 16, device=d, seed=s) for s in range(3))))
        q = randn(2, 3, 8, 16, device=DEVICE)
        with self.assertRaisesRegex(NotImplementedError, "forward AD"):  # as on the CPU
            torch.func.jvp(lambda x: F.scaled_dot_product_attention(x, x, x), (q,), (q,))

    def test_multi_head_attention(self):
        def run(d):
            torch.manual_seed(0)
            module = nn.MultiheadAttention(16, 4, batch_first=True).to(d).eval()
            with torch.no_grad():
                return module(*[randn(2, 5, 16, device=d)] * 3)

        self.check(run)


class Autocast(Case):
    def test_policies(self):
        def dtypes(d):
            a, b = torch.ones(2, 2, device=d), torch.ones(2, 2, device=d)
            low = a.bfloat16()
            with torch.autocast(d, dtype=torch.bfloat16):
                results = [a @ b, F.linear(a, b), torch.softmax(low, 0), torch.cat([a, low]), a + b, torch.exp(low),
                           F.mse_loss(low, low), F.layer_norm(low, (2,)), torch.einsum("ij,jk", a, b), low.norm(),
                           torch.prod(low), F.conv1d(a[None], b[None]), torch.stack([a, low]), low.sum()]
            return [result.dtype for result in results]

        expected = dtypes(NATIVE)
        self.assertEqual(dtypes(DEVICE), expected)
        self.assertEqual(expected[0], torch.bfloat16)

    @unittest.skipIf(NATIVE != "cpu", "the policies are the CPU's")
    def test_policies_that_only_the_cpu_has(self):
        def run(d):
            torch.manual_seed(0)
            x, low = torch.randn(1, 3, 8, device=d), torch.randn(4, 4, device=d).bfloat16()
            with torch.autocast(d, dtype=torch.bfloat16):
                return [F.cross_entropy(low, torch.tensor([0, 1, 2, 3], device=d)), F.pad(x.bfloat16(), (1, 1), "reflect"),
                        F.conv1d(x, torch.ones(2, 3, 3, device=d), padding="same"), torch.stack([low, low.float()]),
                        torch.trace(low), F.dropout(low, 0.3), torch.index_copy(low, 0, torch.tensor([1], device=d), low[:1])]

        self.check(run)

    def test_other_devices_autocast_leaves_flagos_alone(self):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            a = torch.ones(2, 2, device=DEVICE)
            self.assertEqual((a @ a).dtype, torch.float32)

    def test_grad_scaler_skips_on_inf(self):
        p = nn.Parameter(torch.ones(2, device=DEVICE))
        optimizer = torch.optim.SGD([p], lr=1.0)
        scaler = torch.amp.GradScaler(DEVICE, init_scale=4.0)
        scaler.scale((p * float("inf")).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
        self.assertTrue(torch.equal(p.detach().cpu(), torch.ones(2)))
        self.assertEqual(scaler.get_scale(), 2.0)
        optimizer.zero_grad()
        scaler.scale((p * 2).sum()).backward()
        scaler.step(optimizer)
        self.assertTrue(torch.equal(p.detach().cpu(), torch.full((2,), -1.0)))


if __name__ == "__main__":
    unittest.main()
