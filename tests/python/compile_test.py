"""torch.compile's default backend on flagos: against eager flagos, and bit for bit against the compiled target.

On the CUDA target a backward pass can't be compared with native CUDA in this process (pytorch/pytorch#161129): there
gradients are compared with eager flagos alone.
"""

from __future__ import annotations

import contextlib
import unittest
import unittest.mock
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch._dynamo.testing import CompileCounterWithBackend
from torch.utils._pytree import tree_leaves, tree_map

import flagos

TARGET = flagos.target()


def on(device: str, values: Any) -> Any:
    """Copies on the device, each a leaf that wants a gradient where the original does."""
    return tree_map(lambda value: value.detach().to(device).clone().requires_grad_(value.requires_grad), values)


def reference(*arguments: torch.Tensor) -> torch.Tensor:
    """Two products with a softmax, elementwise work and a reduction between them."""
    x, w = arguments
    scores = torch.softmax((x @ w).relu() * 0.5 + 1, dim=-1)
    return (scores @ w.t()).sum(dim=0) - x.mean()


class Block(torch.nn.Module):
    """A small transformer block."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = torch.nn.Linear(16, 48)
        self.out = torch.nn.Linear(16, 16)
        self.norm = torch.nn.LayerNorm(16)
        self.register_buffer("scale", torch.tensor(0.5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (part.unflatten(-1, (2, 8)).transpose(1, 2) for part in self.attention(self.norm(x)).chunk(3, -1))
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(-2)
        return x + F.gelu(self.out(attended)) * self.scale


def gradients(model: Callable[..., torch.Tensor], module: torch.nn.Module, x: torch.Tensor) -> list[torch.Tensor]:
    loss = model(x).square().mean()
    loss.backward()
    return [loss.detach(), x.grad, *(parameter.grad for parameter in module.parameters())]


class CompileTest(unittest.TestCase):
    def setUp(self) -> None:
        torch._dynamo.reset()
        torch.manual_seed(0)

    def assert_same(self, ours: Any, theirs: Any) -> None:
        """Equal bits, and ours on flagos."""
        for our, their in zip(tree_leaves(ours), tree_leaves(theirs), strict=True):
            self.assertEqual(our.device.type, "flagos")
            torch.testing.assert_close(our.cpu(), their.cpu(), rtol=0, atol=0, equal_nan=True)

    def assert_close(self, ours: Any, theirs: Any) -> None:
        for our, their in zip(tree_leaves(ours), tree_leaves(theirs), strict=True):
            torch.testing.assert_close(our.cpu(), their.cpu(), rtol=1e-4, atol=1e-5)

    def compare(self, function: Callable[..., Any], *arguments: Any) -> None:
        ours = torch.compile(function, fullgraph=True)(*on("flagos", arguments))
        self.assert_same(ours, torch.compile(function, fullgraph=True)(*on(TARGET, arguments)))
        self.assert_close(ours, function(*on("flagos", arguments)))

    def test_fusion_reduction_and_products(self) -> None:
        self.compare(reference, torch.randn(8, 16), torch.randn(16, 24))

    def test_kernels_are_fused(self) -> None:
        x, w = torch.randn(8, 16, device="flagos"), torch.randn(16, 24, device="flagos")
        compiled = torch.compile(reference)
        compiled(x, w)
        flagos.reset_stats()
        compiled(x, w)
        called = {name for name, counts in flagos.stats().items() if counts.calls}
        self.assertFalse(called & {"aten::relu", "aten::_softmax", "aten::softmax.int", "aten::mul.Tensor"}, called)

    def test_transformer_block_trains(self) -> None:
        block, x = Block(), torch.randn(2, 8, 16)
        results = {}
        for device, compiled in (("flagos", True), ("flagos", False), (TARGET, True)):
            if (device, TARGET) == ("cuda", "cuda"):
                continue
            module = Block()
            module.load_state_dict(block.state_dict())
            module.to(device)
            model = torch.compile(module, fullgraph=True) if compiled else module
            results[device, compiled] = gradients(model, module, x.to(device).clone().requires_grad_())
        self.assert_close(results["flagos", True], results["flagos", False])
        if TARGET != "cuda":
            self.assert_same(results["flagos", True], results[TARGET, True])

    def test_dynamic_shapes_compile_once(self) -> None:
        counter = CompileCounterWithBackend("inductor")
        compiled = torch.compile(reference, backend=counter, dynamic=True)
        w = torch.randn(16, 24, device="flagos")
        for rows in (5, 9, 17):
            x = torch.randn(rows, 16, device="flagos")
            self.assert_close(compiled(x, w), reference(x, w))
        self.assertEqual(counter.frame_count, 1)

    def test_in_place_and_views(self) -> None:
        def step(cache: torch.Tensor, at: torch.Tensor, new: torch.Tensor) -> tuple[torch.Tensor, ...]:
            cache.index_copy_(0, at, new)
            cache[0].add_(1)
            return cache.view(-1)[3:], cache.t()

        cache, at, new = torch.zeros(4, 4), torch.tensor([1, 3]), torch.randn(2, 4)
        eager, compiled = (on("flagos", cache) for _ in range(2))
        versions = []
        for function, own in ((step, eager), (torch.compile(step, fullgraph=True), compiled)):
            views = function(own, *on("flagos", (at, new)))
            versions.append(own._version)
            self.assertEqual([view.data_ptr() - own.data_ptr() for view in views], [12, 0])
            self.assertTrue(all(view._base is own for view in views))
        self.assert_same(compiled, eager)
        self.assertGreater(versions[1], 0)

    def test_random_numbers_are_those_of_the_compiled_target(self) -> None:
        def noisy(x: torch.Tensor) -> torch.Tensor:
            return F.dropout(x, 0.5) + torch.rand(x.shape[-1], device=x.device)

        x, results = torch.ones(64, 8), []
        for device in ("flagos", "flagos", TARGET):
            torch.manual_seed(5)
            results.append(torch.compile(noisy, fullgraph=True)(x.to(device)).cpu())
        self.assertTrue(torch.equal(results[0], results[1]))
        self.assertTrue(torch.equal(results[0], results[2]))
        self.assertGreater(len(results[0].unique()), 2)

    def test_a_move_between_devices_is_a_copy(self) -> None:
        """Also where both devices are the target's to inductor, which might take it for none."""

        def move(x: torch.Tensor, other: torch.Tensor) -> tuple[torch.Tensor, ...]:
            y = x + 1
            return x.to(TARGET), other.to("flagos"), y, y.to(TARGET), y.to(TARGET).to("flagos")

        x, other = torch.randn(4, device="flagos"), torch.randn(4, device=TARGET)
        moved = torch.compile(move, fullgraph=True)(x, other)
        self.assertEqual([each.device.type for each in moved], [TARGET, "flagos", "flagos", TARGET, "flagos"])
        for our, their in zip(moved, move(x, other), strict=True):
            self.assertTrue(torch.equal(our.cpu(), their.cpu()))
        self.assertEqual(len({each.data_ptr() for each in (x, other, *moved)}), 7)

    def test_a_graph_without_flagos_inputs(self) -> None:
        ours, theirs = (
            torch.compile(lambda: torch.arange(4.0, device=device).cos(), fullgraph=True)()
            for device in ("flagos", TARGET)
        )
        self.assert_same(ours, theirs)

    def test_frozen_weights_are_constants_of_the_graph(self) -> None:
        model = torch.nn.Sequential(torch.nn.Linear(16, 8), torch.nn.ReLU()).to("flagos").eval()
        x = torch.randn(4, 16, device="flagos")
        with torch._inductor.config.patch(freezing=True), torch.no_grad():
            self.assert_close(torch.compile(model, fullgraph=True)(x), model(x))

    def test_graphs_of_the_target_are_left_alone(self) -> None:
        seen = self.graphs_of(lambda: torch.compile(reference)(*on(TARGET, (torch.randn(8, 16), torch.randn(16, 24)))))
        self.assertTrue(seen and all(hasattr(graph, "_fx_graph_cache_key") for graph in seen))

    def graphs_of(self, call: Callable[[], Any]) -> list[Any]:
        """What compile_fx_forward gives AOTAutograd while `call` compiles."""
        from torch._inductor import compile_fx

        seen, original = [], compile_fx.compile_fx_forward

        def spy(*arguments: Any, **keywords: Any) -> Any:
            seen.append(original(*arguments, **keywords))
            return seen[-1]

        with unittest.mock.patch.object(compile_fx, "compile_fx_forward", spy), fresh_autograd_cache():
            call()
        return seen


@contextlib.contextmanager
def fresh_autograd_cache() -> Iterator[None]:
    with torch._functorch.config.patch(enable_autograd_cache=False):
        yield


class RegistrationTest(unittest.TestCase):
    def test_importing_flagos_does_not_import_the_compiler(self) -> None:
        import subprocess
        import sys

        code = "import flagos, sys; print('torch._inductor.compile_fx' in sys.modules)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        self.assertEqual(done.stdout.strip(), "False")

    def test_dynamo_knows_the_device(self) -> None:
        from torch._dynamo.device_interface import get_interface_for_device

        interface = get_interface_for_device("flagos:0")
        self.assertEqual(interface.device_count(), torch.flagos.device_count())
        self.assertEqual(interface.exchange_device(0), torch.flagos.current_device())
        self.assertEqual(interface.current_stream(), torch.flagos.current_stream())

    def test_a_module_keeps_its_own_loader(self) -> None:
        from torch._inductor import compile_fx

        self.assertNotIn("flagos", type(compile_fx.__spec__.loader).__module__)
        self.assertEqual(compile_fx.compile_fx.__wrapped__.__module__, "torch._inductor.compile_fx")

    def test_another_compile_fx_is_not_replaced(self) -> None:
        import types

        other = types.ModuleType("other")
        other.compile_fx = lambda model, inputs: None
        before = other.compile_fx
        with self.assertWarnsRegex(UserWarning, 'backend="aot_eager"'):
            flagos.device._inductor.install(other)
        self.assertIs(other.compile_fx, before)

    def test_ahead_of_time_says_what_to_do(self) -> None:
        exported = torch.export.export(torch.nn.ReLU(), (torch.randn(4, device="flagos"),))
        with self.assertRaisesRegex(Exception, 'backend="aot_eager"'):
            torch._inductor.aoti_compile_and_package(exported)


if __name__ == "__main__":
    unittest.main()
