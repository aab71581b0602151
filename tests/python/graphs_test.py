"""CUDA graphs of flagos work, emit_nvtx, and the allocator's snapshot. On the CPU target: what their errors say."""

from __future__ import annotations

import os
import pickle
import tempfile
import unittest

import torch

import flagos

DEVICE = torch.flagos
ON_CUDA = flagos.target() == "cuda"
needs_cuda = unittest.skipUnless(ON_CUDA, "needs a CUDA target")


class Decode:
    """A step like a decoder's: products, a softmax over a static cache that it writes, and an add in place."""

    def __init__(self) -> None:
        torch.manual_seed(1)
        self.weight = torch.randn(64, 64, device="flagos") / 8
        self.cache = torch.zeros(16, 64, device="flagos")
        self.count = torch.zeros((), dtype=torch.int64, device="flagos")

    def __call__(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.cache.index_copy_(0, position, x @ self.weight)
        self.count.add_(1)
        scores = torch.softmax(x @ self.cache.t(), dim=-1)
        return scores @ self.cache


@needs_cuda
class GraphTest(unittest.TestCase):
    def capture(self, step: Decode, x: torch.Tensor, position: torch.Tensor, **settings: object) -> tuple:
        side = DEVICE.Stream()
        side.wait_stream(DEVICE.current_stream())
        with DEVICE.stream(side), torch.no_grad():  # cuBLAS allocates its workspace on first use
            for _ in range(3):
                step(x, position)
        DEVICE.current_stream().wait_stream(side)
        captured = DEVICE.CUDAGraph()
        with DEVICE.graph(captured, **settings), torch.no_grad():
            self.assertTrue(DEVICE.is_current_stream_capturing())
            output = step(x, position)
        self.assertEqual(output.device.type, "flagos")
        step.cache.zero_()
        step.count.zero_()
        return captured, output

    def check(self, **settings: object) -> None:
        step, eager = Decode(), Decode()
        x = torch.randn(1, 64, device="flagos")
        position = torch.zeros(1, dtype=torch.int64, device="flagos")
        captured, output = self.capture(step, x, position, **settings)
        for at in range(4):
            x.copy_(torch.randn(1, 64))
            position.fill_(at)
            captured.replay()
            expected = eager(x, position)
            self.assertTrue(torch.equal(output, expected), at)
            self.assertTrue(torch.equal(step.cache, eager.cache), at)
        self.assertEqual((step.count.item(), eager.count.item()), (4, 4))
        self.assertGreater(step.cache[3].abs().sum().item(), 0)

    def test_replay_is_the_eager_step(self) -> None:
        self.check()

    def test_replay_with_a_stream_and_a_pool_of_ones_own(self) -> None:
        self.check(stream=DEVICE.Stream(), pool=DEVICE.graph_pool_handle())

    def test_torch_cuda_graph_captures_flagos_too(self) -> None:
        x = torch.ones(8, device="flagos")
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            y = x * 2
        x.fill_(5)
        captured.replay()
        self.assertEqual(y.tolist(), [10.0] * 8)

    def test_make_graphed_callables_trains(self) -> None:
        torch.manual_seed(2)
        layer = torch.nn.Sequential(torch.nn.Linear(16, 16), torch.nn.ReLU()).to("flagos")
        x = torch.randn(4, 16, device="flagos", requires_grad=True)
        expected = layer(x)
        wanted = torch.autograd.grad(expected.square().sum(), [x, *layer.parameters()])
        expected = expected.detach()  # the graph it belongs to would keep the parameters' nodes on the default stream
        graphed = DEVICE.make_graphed_callables(layer, (x,))
        output = graphed(x)
        output.square().sum().backward()
        self.assertTrue(torch.equal(output, expected))
        for ours, want in zip([x.grad, *(p.grad for p in layer.parameters())], wanted, strict=True):
            torch.testing.assert_close(ours.cpu(), want.cpu())

    def test_reduce_overhead(self) -> None:
        w = torch.randn(64, 64, device="flagos")

        def step(x: torch.Tensor) -> torch.Tensor:
            return torch.softmax(x @ w, dim=-1) + 1

        compiled = torch.compile(step, mode="reduce-overhead", fullgraph=True)
        for _ in range(4):
            x = torch.randn(8, 64, device="flagos")
            with torch.no_grad():
                torch.testing.assert_close(compiled(x).clone().cpu(), step(x).cpu(), rtol=1e-4, atol=1e-5)
        from torch._dynamo.utils import counters

        self.assertEqual(counters["inductor"]["cudagraph_skips"], 0)

    def test_emit_nvtx(self) -> None:
        x = torch.ones(8, 8, device="flagos", requires_grad=True)
        with torch.autograd.profiler.emit_nvtx(record_shapes=True):
            (x @ x).sum().backward()
        torch.cuda.nvtx.range_push("cuda")
        wanted = torch.cuda.nvtx.range_pop()  # a level, or that no profiler listens
        DEVICE.nvtx.range_push("flagos")
        self.assertEqual(DEVICE.nvtx.range_pop(), wanted)
        self.assertEqual(x.grad.sum().item(), 2 * 8 * 8 * 8)

    def test_kernels_appear_in_the_profile(self) -> None:
        x = torch.randn(256, 256, device="flagos")
        x @ x
        activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profiler:
            x @ x
            DEVICE.synchronize()
        product = next(average for average in profiler.key_averages() if average.key == "aten::mm")
        self.assertEqual(product.count, 1)
        self.assertGreater(product.device_time_total, 0)

    def test_snapshot_of_the_allocator(self) -> None:
        DEVICE.memory._record_memory_history(max_entries=1000)
        try:
            kept = torch.empty(3 << 20, dtype=torch.uint8, device="flagos")
            snapshot = DEVICE.memory._snapshot()
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "snapshot.pickle")
                DEVICE.memory._dump_snapshot(path)
                with open(path, "rb") as file:
                    self.assertIn("segments", pickle.load(file))
        finally:
            DEVICE.memory._record_memory_history(None)
        starts = {event["addr"] for events in snapshot["device_traces"] for event in events}
        self.assertIn(kept.data_ptr(), starts)


@unittest.skipIf(ON_CUDA, "the CUDA target has what these lack")
class CpuTargetTest(unittest.TestCase):
    def test_graphs_say_what_to_do(self) -> None:
        calls = (
            DEVICE.CUDAGraph,
            lambda: DEVICE.graph(torch.cuda.CUDAGraph.__new__(torch.cuda.CUDAGraph)),
            DEVICE.graph_pool_handle,
            lambda: DEVICE.make_graphed_callables(lambda x: x, ()),
        )
        for call in calls:
            with self.assertRaisesRegex(RuntimeError, "not available on the CPU target.*FLAGOS_TARGET=cuda"):
                call()

    def test_snapshots_say_that_there_are_none(self) -> None:
        for call in (DEVICE.memory._record_memory_history, DEVICE.memory._snapshot, DEVICE.memory._dump_snapshot):
            with self.assertRaisesRegex(RuntimeError, "not available on the CPU target"):
                call()
        DEVICE.memory._record_memory_history(None)


if __name__ == "__main__":
    unittest.main()
