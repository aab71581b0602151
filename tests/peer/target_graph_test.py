"""Backward passes through composites that run whole on the target, whose graph is one node (lib/ops/target_graph.h).

Every expected value or error is what the target itself gives. A native CUDA backward needs a process of its own, so with
CUDA as the target only what needs none is compared, by training_test.py.
"""

from __future__ import annotations

import unittest
import warnings

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import flagos
from flagos._recurrent import on_flagos

NATIVE = flagos.target()
DEVICES = (NATIVE, "flagos")


def lstm(device: str, **options) -> tuple[nn.Module, torch.Tensor]:
    """A layer and an input that are the same on every device."""
    torch.manual_seed(0)
    module = nn.LSTM(4, 5, num_layers=2, batch_first=True, **options)
    x = torch.randn(3, 6, 4)
    return module.to(device), x.to(device).requires_grad_()


@unittest.skipUnless(NATIVE == "cpu", "a native backward on CUDA needs its own process")
class Gradients(unittest.TestCase):
    def same(self, run, **tolerance: float) -> None:
        """Tensors, texts and all else that `run` gives of a device; bit for bit unless a tolerance is given."""
        expected, got = (run(device) for device in DEVICES)
        self.assertEqual(len(expected), len(got))
        for left, right in zip(expected, got):
            if isinstance(left, torch.Tensor):
                self.assertEqual(right.device.type, "flagos")
                torch.testing.assert_close(right.cpu(), left.cpu(), **(tolerance or {"rtol": 0, "atol": 0}))
            else:
                self.assertEqual(left, right)

    def test_grad_of_chosen_inputs(self):
        """The engine lists the nodes that such a pass wants; the target's are not in the list."""
        def run(device):
            module, x = lstm(device)
            return torch.autograd.grad(module(x)[0].square().sum(), [x, module.weight_hh_l0])
        self.same(run)

    def test_higher_orders(self):
        """To rounding: where two passes' graphs share nodes, each is evaluated for itself and the sums are made later."""
        def run(device):
            torch.manual_seed(0)
            module = nn.GRUCell(4, 5).to(device)
            x, h = torch.randn(3, 4).to(device).requires_grad_(), torch.randn(3, 5).to(device).requires_grad_()
            first = torch.autograd.grad(module(x, h).pow(3).sum(), [x, h, module.weight_ih], create_graph=True)
            second = torch.autograd.grad(sum(g.pow(2).sum() for g in first), [x, h, module.weight_hh], create_graph=True)
            return [*first, *second, *torch.autograd.grad(second[0].sum(), [h])]
        self.same(run, rtol=1e-5, atol=1e-6)

    def test_some_outputs_and_both_states(self):
        def run(device):
            module, x = lstm(device, bidirectional=True, proj_size=2)
            _, (h, c) = module(x)
            (h.sum() + 2 * c.pow(2).sum()).backward()
            return [x.grad, *(p.grad for p in module.parameters())]
        self.same(run)

    def test_a_second_pass(self):
        def run(device):
            module, x = lstm(device)
            loss = module(x)[0].sum()
            loss.backward(retain_graph=True)
            loss.backward()
            try:
                loss.backward()
            except RuntimeError as error:
                return x.grad, str(error)
            return x.grad, "no error"
        self.same(run)
        self.assertIn("second time", run("flagos")[1])

    def test_changed_in_place(self):
        def run(device):
            module, x = lstm(device)
            out = module(x)[0]
            with torch.no_grad():
                module.weight_hh_l0.add_(1)
            try:
                out.sum().backward()
            except RuntimeError as error:
                return "modified by an inplace operation" in str(error), "is at version 1" in str(error)
            return (x.grad,)
        self.same(run)

    def test_one_tensor_twice_and_frozen_weights(self):
        def run(device):
            module, x = lstm(device)
            module.weight_ih_l0.requires_grad_(False)
            h = torch.ones(2, 3, 5, device=device, requires_grad=True)
            module(x, (h, h))[0].square().sum().backward()
            return x.grad, h.grad, module.weight_ih_l0.grad, module.bias_hh_l1.grad
        self.same(run)

    def test_checkpoint_and_hooks(self):
        def run(device):
            module, x = lstm(device)
            seen = []
            out = checkpoint(lambda t: module(t)[0], x, use_reentrant=False)
            out.register_hook(lambda g: seen.append(g.sum().item()))
            out.cos().sum().backward()
            return [x.grad, *seen, module.weight_ih_l1.grad]
        self.same(run)

    def test_saved_tensors_hooks(self):
        def run(device):
            module, x = lstm(device)
            with torch.autograd.graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
                out = module(x)[0]
            out.sum().backward()
            return x.grad, module.weight_hh_l1.grad
        self.same(run)

    def test_ctc_loss(self):
        def run(device):
            torch.manual_seed(0)
            logits = torch.randn(10, 2, 5).to(device).requires_grad_()
            loss = nn.functional.ctc_loss(
                logits.log_softmax(2), torch.tensor([[1, 2, 3], [2, 2, 4]]).to(device), [10, 8], [3, 2])
            loss.backward()
            return loss, logits.grad
        self.same(run)

    def test_gradgradcheck(self):
        torch.manual_seed(0)
        module = nn.LSTMCell(2, 3).double().to("flagos")
        x = torch.randn(2, 2, dtype=torch.double).to("flagos").requires_grad_()
        self.assertTrue(torch.autograd.gradcheck(lambda t: module(t), (x,)))
        self.assertTrue(torch.autograd.gradgradcheck(lambda t: module(t)[0], (x,)))


class Weights(unittest.TestCase):
    def test_weights_become_views_of_one_buffer(self):
        """What cuDNN wants; `pack` stands for PyTorch's own function, which does it to CUDA tensors only."""
        def pack(module):
            self.assertTrue(all(w.device.type == NATIVE for w in module._flat_weights))
            buffer = torch.cat([w.view(-1) for w in module._flat_weights])
            start = 0
            for weight in module._flat_weights:
                weight.data = buffer[start : start + weight.numel()].view(weight.shape)
                start += weight.numel()

        module = lstm("flagos")[0]
        before = [p.detach().cpu().clone() for p in module.parameters()]
        names = [id(p) for p in module.parameters()]
        on_flagos(pack)(module)
        self.assertEqual(len({p.untyped_storage().data_ptr() for p in module.parameters()}), 1)
        self.assertEqual(names, [id(p) for p in module.parameters()])
        for old, new, flat in zip(before, module.parameters(), module._flat_weights):
            self.assertEqual(new.device.type, "flagos")
            self.assertIs(new, flat)
            self.assertTrue(torch.equal(old, new.detach().cpu()))

    def test_other_devices_are_left_to_pytorch(self):
        asked = []
        module = nn.LSTM(2, 3)
        on_flagos(lambda m: asked.append(m._flat_weights))(module)
        self.assertIs(asked[0], module._flat_weights)

    @unittest.skipUnless(NATIVE == "cuda", "cuDNN's layout")
    def test_cudnn_finds_its_buffer(self):
        """cuDNN warns where it has to gather the weights first."""
        module, x = lstm("flagos")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            module(x)[0].sum().backward()


if __name__ == "__main__":
    unittest.main()
