"""Modules and optimizers.

Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.
"""

from __future__ import annotations

import unittest

import torch
from torch import nn

from target_case import DEVICE, NATIVE, NATIVE_BACKWARD, Case, randn


class Modules(Case):
    def test_lengths_of_a_packed_sequence_are_the_hosts(self):
        lengths = torch.tensor([3, 2])
        self.check(lambda d: torch._pack_padded_sequence(randn(3, 2, 4, device=d), lengths, False)[0])
        with self.assertRaisesRegex(RuntimeError, "1D CPU int64 tensor, but got 1D flagos:0 Long"):
            torch._pack_padded_sequence(randn(3, 2, 4, device="flagos"), lengths.to("flagos"), False)

    def test_tied_weights_move_as_one(self):
        first, second = nn.Linear(3, 3), nn.Linear(3, 3)
        second.weight = first.weight
        model = nn.Sequential(first, second).to(DEVICE)
        self.assertIs(model[0].weight, model[1].weight)
        self.assertEqual(model[0].weight.device.type, DEVICE)
        model(torch.ones(2, 3, device=DEVICE)).sum().backward()
        kept = model[0].weight
        model(torch.ones(2, 3, device=DEVICE)).sum()  # a graph that is not run
        model.cpu()
        self.assertEqual(model[0].weight.device.type, "cpu")
        self.assertIs(model[0].weight, kept)
        self.assertIs(model[1].weight, kept)
        self.assertEqual(kept.grad.device.type, "cpu")
        model(torch.ones(2, 3)).sum().backward()

    def test_data_assignment(self):
        p = nn.Parameter(torch.ones(3, device=DEVICE))
        p.data = torch.zeros(2)
        self.assertEqual(p.device.type, "cpu")
        p.data = torch.full((4,), 2.0, device=DEVICE)
        self.assertEqual((p.device.type, p.shape), (DEVICE, (4,)))
        self.assertTrue(torch.equal((p * 2).cpu(), torch.full((4,), 4.0)))

    def test_recurrent(self):
        if not NATIVE_BACKWARD:
            self.skipTest("native backward needs its own process")

        def cell(kind):
            def run(d):
                torch.manual_seed(0)
                module = kind(4, 5).to(d)
                x = randn(3, 4, device=d).requires_grad_()
                out = module(x)
                (out[0] if isinstance(out, tuple) else out).sum().backward()
                return out, x.grad, module.weight_hh.grad

            return run

        def layer(kind, packed):
            def run(d):
                torch.manual_seed(0)
                module = kind(4, 5, num_layers=2, bidirectional=True, batch_first=True).to(d)
                x = randn(3, 6, 4, device=d).requires_grad_()
                fed = nn.utils.rnn.pack_padded_sequence(x, [6, 4, 1], batch_first=True) if packed else x
                out, _ = module(fed)
                (out.data if packed else out).sum().backward()
                return (out.data if packed else out), x.grad, module.weight_hh_l0.grad

            return run

        for kind in (nn.LSTMCell, nn.GRUCell, nn.RNNCell):
            with self.subTest(kind.__name__):
                self.check(cell(kind))
        for kind in (nn.LSTM, nn.GRU, nn.RNN):
            for packed in (False, True):
                with self.subTest(f"{kind.__name__} packed={packed}"):
                    self.check(layer(kind, packed))


class TracedRecurrence(Case):
    def test_cells_while_functionalizing(self):
        for kind in (nn.LSTMCell, nn.GRUCell):
            with self.subTest(kind.__name__):
                def step(d, kind=kind):
                    torch.manual_seed(0)
                    module = kind(4, 5).to(d)
                    for parameter in module.parameters():
                        parameter.requires_grad_(False)
                    return torch.func.functionalize(lambda x: module(x))(randn(3, 4, device=d))

                self.check(step, exact=False)

    def test_fused_cells_gradients(self):
        if NATIVE != "cpu":
            self.skipTest("the target has the fused cells")

        def lstm(i, h, c, b1, b2):
            return torch.ops.aten._thnn_fused_lstm_cell(i, h, c, b1, b2)[:2]

        def lstm_reference(i, h, c, b1, b2):
            gi, gf, gg, go = (i + b1 + h + b2).chunk(4, 1)
            cy = gf.sigmoid() * c + gi.sigmoid() * gg.tanh()
            return go.sigmoid() * cy.tanh(), cy

        def gru(i, h, x, b1, b2):
            return torch.ops.aten._thnn_fused_gru_cell(i, h, x, b1, b2)[:1]

        def gru_reference(i, h, x, b1, b2):
            (ir, iz, new), (hr, hz, hn) = (i + b1).chunk(3, 1), (h + b2).chunk(3, 1)
            z, n = (iz + hz).sigmoid(), (new + (ir + hr).sigmoid() * hn).tanh()
            return (n + z * (x - n),)

        for gates, ours, reference in ((4, lstm, lstm_reference), (3, gru, gru_reference)):
            shapes = ((2, gates * 5), (2, gates * 5), (2, 5), (gates * 5,), (gates * 5,))
            grads = []
            for device, cell in ((DEVICE, ours), ("cpu", reference)):
                leaves = [randn(*s, device=device, dtype=torch.float64, seed=k).requires_grad_() for k, s in enumerate(shapes)]
                sum((k + 1) * (o * o).sum() for k, o in enumerate(cell(*leaves))).backward()
                grads.append([leaf.grad.cpu() for leaf in leaves])
            torch.testing.assert_close(grads[0], grads[1])


class Optimizers(Case):
    def test_foreach_and_fused(self):
        if not NATIVE_BACKWARD:
            self.skipTest("native backward needs its own process")
        for kind, options in ((torch.optim.AdamW, {"foreach": True}), (torch.optim.AdamW, {"fused": True}),
                              (torch.optim.SGD, {"momentum": 0.9, "foreach": True}), (torch.optim.Adagrad, {})):
            with self.subTest(f"{kind.__name__} {options}"):
                def train(d, kind=kind, options=options):
                    torch.manual_seed(0)
                    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2)).to(d)
                    optimizer = kind(model.parameters(), lr=0.1, **options)
                    for step in range(3):
                        optimizer.zero_grad()
                        model(randn(5, 4, device=d, seed=step)).square().mean().backward()
                        nn.utils.clip_grad_norm_(model.parameters(), 0.5)
                        optimizer.step()
                    return list(model.parameters())

                self.check(train)


if __name__ == "__main__":
    unittest.main()
