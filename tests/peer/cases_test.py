"""Faults that users of PrivateUse1 backends have reported, each kind on flagos against the target itself.

Run with unittest. FLAGOS_TARGET chooses the target; every expected value is what the target gives for the same call.
"""

from __future__ import annotations

import copy
import io
import pickle
import unittest
import warnings
from typing import Any, Callable

import torch
import torch.nn.functional as F
from torch import nn

import flagos

NATIVE = flagos.target()
DEVICE = "flagos"
# A native CUDA backward in a process with a PrivateUse1 backend fails in the autograd engine (pytorch issue 161129).
NATIVE_BACKWARD = NATIVE == "cpu"


def tree_map(function: Callable[[torch.Tensor], Any], tree: Any) -> Any:
    return torch.utils._pytree.tree_map_only(torch.Tensor, function, tree)


class Case(unittest.TestCase):
    """Runs a function of a device on the target and on flagos."""

    def check(self, function: Callable[[str], Any], exact: bool = True) -> Any:
        """The results must be equal bit for bit (or close), and flagos's be on flagos."""
        results = {}
        for device in (NATIVE, DEVICE):
            torch.manual_seed(7)
            results[device] = function(device)
        flat = {d: torch.utils._pytree.tree_leaves(r) for d, r in results.items()}
        self.assertEqual(len(flat[NATIVE]), len(flat[DEVICE]))
        for expected, got in zip(flat[NATIVE], flat[DEVICE]):
            if not isinstance(expected, torch.Tensor):
                self.assertEqual(expected, got)
                continue
            self.assertEqual(expected.dtype, got.dtype)
            self.assertEqual(expected.shape, got.shape)
            if expected.device.type == NATIVE and NATIVE != "cpu":
                self.assertEqual(got.device.type, DEVICE)
            left, right = (t.detach().cpu().to_dense() if t.layout != torch.strided else t.detach().cpu()
                           for t in (expected, got))
            if exact:
                torch.testing.assert_close(right, left, rtol=0, atol=0, equal_nan=True)
            else:
                torch.testing.assert_close(right, left)
        return results[DEVICE]

    def check_error(self, function: Callable[[str], Any]) -> None:
        """Both raise, with the same first line but for the device's name."""
        texts = []
        for device in (NATIVE, DEVICE):
            with self.assertRaises(Exception) as caught:
                function(device)
            texts.append(str(caught.exception).split("\n")[0].replace("flagos", NATIVE))
        self.assertEqual(texts[0].replace(":0", ""), texts[1].replace(":0", ""))


def randn(*shape: int, device: str, dtype: torch.dtype = torch.float32, seed: int = 3) -> torch.Tensor:
    """The same noise on every device."""
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=generator, dtype=dtype).to(device)


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


class Modules(Case):
    def test_tied_weights_move_as_one(self):
        first, second = nn.Linear(3, 3), nn.Linear(3, 3)
        second.weight = first.weight
        model = nn.Sequential(first, second).to(DEVICE)
        self.assertIs(model[0].weight, model[1].weight)
        self.assertEqual(model[0].weight.device.type, DEVICE)
        model(torch.ones(2, 3, device=DEVICE)).sum().backward()
        model.cpu()
        self.assertEqual(model[0].weight.device.type, "cpu")

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

    def test_the_targets_backend_is_chosen(self):
        def choice(d):
            q, k, v = (randn(2, 3, 8, 16, device=d, seed=s) for s in range(3))
            return torch._fused_sdp_choice(q, k, v)

        self.check(choice)

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


class Copies(Case):
    def test_every_direction_and_dtype(self):
        for dtype in (torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.bool, torch.complex64):
            x = torch.arange(6).reshape(2, 3).to(dtype)
            with self.subTest(str(dtype)):
                y = x.to(DEVICE)
                self.assertTrue(torch.equal(y.cpu(), x))
                self.assertTrue(torch.equal(y.to(NATIVE).cpu(), x))
                self.assertTrue(torch.equal(y.t().to("cpu", non_blocking=True).contiguous() if NATIVE == "cpu" else y.t().cpu(), x.t()))
                self.assertTrue(torch.equal(x.to(NATIVE).to(DEVICE).cpu(), x))
                self.assertTrue(torch.equal(torch.empty_like(x).copy_(y), x))

    def test_memory_format_and_grad(self):
        def formats(d):
            x = randn(2, 3, 4, 4, device=d).requires_grad_()
            y = x.to(torch.float64, memory_format=torch.channels_last)
            return y, y.stride(), y.grad_fn is not None

        self.check(formats)

    def test_save_load_pickle_deepcopy(self):
        x = torch.arange(6.0, device=DEVICE).view(2, 3)
        module = nn.Linear(2, 2).to(DEVICE)
        buffer = io.BytesIO()
        torch.save({"x": x, "state": module.state_dict()}, buffer)
        buffer.seek(0)
        loaded = torch.load(buffer)
        self.assertEqual(loaded["x"].device.type, DEVICE)
        self.assertEqual(loaded["state"]["weight"].device.type, DEVICE)
        self.assertTrue(torch.equal(loaded["x"].cpu(), x.cpu()))
        for location in ("cpu", DEVICE):
            buffer.seek(0)
            self.assertEqual(torch.load(buffer, map_location=location)["x"].device.type, location)
        for twin in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
            self.assertEqual(twin.device.type, DEVICE)
            self.assertTrue(torch.equal(twin.cpu(), x.cpu()))
        self.assertEqual(copy.deepcopy(module).weight.device.type, DEVICE)


class Sparse(Case):
    def test_coo(self):
        def coo(d):
            dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], device=d)
            s = dense.to_sparse()
            return (s.to_dense(), s.values(), s.indices(), torch.sparse.mm(s, randn(3, 2, device=d)), (s * 2).to_dense(),
                    (s + s).to_dense(), s.coalesce().to_dense(), torch.sparse.sum(s, 0).to_dense(), s.t().to_dense())

        self.check(coo)

    def test_csr(self):
        def csr(d):
            dense = torch.tensor([[0.0, 2.0, 0.0], [3.0, 0.0, 4.0]], device=d)
            s = dense.to_sparse_csr()
            return s.to_dense(), s.values(), s.crow_indices(), s @ randn(3, 2, device=d)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.check(csr)

    def test_made_from_parts_and_changed_in_place(self):
        def parts(d):
            s = torch.sparse_coo_tensor(torch.tensor([[0, 1]], device=d), torch.tensor([1.0, 2.0], device=d), (3,))
            s.mul_(3)
            return s.to_dense(), s.device.type in (d,)

        self.check(parts)


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
