"""flagos.routes: backends of Python functions, and the routes there. Expected values: what the function itself gives."""

from __future__ import annotations

import os
import tempfile
import unittest
from pathlib import Path

import torch

import flagos
from flagos import routes

NATIVE = flagos.target()
SAMPLES = Path(__file__).resolve().parents[2] / "examples" / "routes"
SEEN: list[str] = []  # the device types that the functions below were given


def tenfold_add(a: torch.Tensor, b: torch.Tensor, *, alpha: float = 1) -> torch.Tensor:
    SEEN.extend((a.device.type, b.device.type))
    return (a + alpha * b) * 10


def relu_to_seven(a: torch.Tensor) -> torch.Tensor:
    SEEN.append(a.device.type)
    return a.fill_(7)


def mm_of_threes(a: torch.Tensor, b: torch.Tensor, *, out: torch.Tensor) -> torch.Tensor:
    SEEN.append(out.device.type)
    return out.resize_(a.shape[0], b.shape[1]).fill_(3)


def cat_backwards(tensors: list[torch.Tensor], dim: int = 0) -> torch.Tensor:
    SEEN.extend(t.device.type for t in tensors)
    return torch.concatenate(tensors[::-1], dim)


def raising(a: torch.Tensor) -> torch.Tensor:
    raise KeyError("from within the kernel")


routes.register_backend(
    "ours",
    {
        "add.Tensor": tenfold_add,
        "aten::relu_": relu_to_seven,
        "mm.out": mm_of_threes,
        "cat": cat_backwards,
        "neg": raising,
    },
)


def ones(*shape: int) -> torch.Tensor:
    return torch.ones(*shape, device="flagos")


class RoutesTest(unittest.TestCase):
    def setUp(self) -> None:
        SEEN.clear()
        self.addCleanup(routes.clear_routes)

    def test_a_function_serves_with_the_targets_tensors_under_autograd(self) -> None:
        routes.set_route("add.Tensor", "ours")
        for enabled in (True, False):
            SEEN.clear()
            x = ones(3).requires_grad_()
            with flagos.redispatch(enabled):
                y = torch.add(x, x, alpha=2)
            self.assertEqual(SEEN, [NATIVE, NATIVE])
            self.assertEqual((y.device.type, y.tolist()), ("flagos", [30.0] * 3))
            self.assertRegex(type(y.grad_fn).__name__, "AddBackward")
            routes.clear_routes()
            y.sum().backward()
            self.assertEqual(x.grad.tolist(), [3.0] * 3)  # autograd's own formula
            routes.set_route("add.Tensor", "ours")

    def test_a_function_that_writes_returns_the_callers_tensor(self) -> None:
        routes.set_route("relu_", "ours")
        base = ones(2, 3)
        view = base[1]
        version = base._version
        self.assertIs(view.relu_(), view)
        self.assertEqual(base.tolist(), [[1.0] * 3, [7.0] * 3])
        self.assertGreater(base._version, version)

    def test_a_function_may_resize_the_result_it_is_given(self) -> None:
        routes.set_route("mm.out", "ours")
        out = torch.empty(0, device="flagos")
        self.assertIs(torch.mm(ones(2, 5), ones(5, 4), out=out), out)
        self.assertEqual((out.shape, out.unique().tolist()), ((2, 4), [3.0]))

    def test_lists(self) -> None:
        routes.set_route("cat", "ours")
        self.assertEqual(torch.cat([ones(1), ones(2) * 2]).tolist(), [2.0, 2.0, 1.0])
        self.assertEqual(SEEN, [NATIVE] * 2)

    def test_an_exception_of_the_function_reaches_the_caller(self) -> None:
        routes.set_route("neg", "ours")
        x = ones(2)
        with self.assertRaisesRegex(KeyError, "from within the kernel"):
            x.neg()
        routes.clear_routes()
        self.assertEqual(x.neg().tolist(), [-1.0] * 2)

    def test_other_devices_and_other_operators_are_not_affected(self) -> None:
        routes.set_route("add.Tensor", "ours")
        cpu = torch.ones(2)
        self.assertEqual((cpu + cpu).tolist(), [2.0, 2.0])
        self.assertEqual((ones(2) * 3).tolist(), [3.0, 3.0])
        self.assertEqual(SEEN, [])

    def test_routes_are_listed_and_cleared(self) -> None:
        routes.set_route("add.Tensor", "ours")
        routes.set_route("mm.default", "cpu")
        self.assertEqual([(r.op, r.backend, r.waiting) for r in routes.routes()],
                         [("aten::add.Tensor", "ours", False), ("aten::mm", "cpu", False)])
        routes.clear_routes()
        self.assertEqual(routes.routes(), [])
        self.assertEqual((ones(2) + ones(2)).tolist(), [2.0, 2.0])
        self.assertEqual(SEEN, [])

    def test_a_file_waits_for_the_backend(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            conf = Path(folder) / 'a"b.conf'  # the name comes back in JSON
            conf.write_text("relu.default = flaggems\n")
            routes.load_routes(conf)
            (route,) = routes.routes()
        self.assertEqual((route.backend, route.waiting, os.path.basename(route.where)), ("flaggems", True, 'a"b.conf:1'))

    def test_sample_files(self) -> None:
        kinds = {}
        for file in sorted(SAMPLES.glob("*.conf")):
            routes.load_routes(file)
            kinds[file.stem] = {route.op.removeprefix("aten::"): route.backend for route in routes.routes()}
            routes.clear_routes()
        self.assertEqual({name: set(kind.values()) for name, kind in kinds.items()},
                         {"native": set(), "dispatch": {"dispatch"}, "cpu": {"cpu"}, "flaggems": {"flaggems"},
                          "metax": {"flaggems"}, "dcu": {"flaggems"}})
        self.assertIn("add.Tensor", kinds["dispatch"])
        self.assertEqual(kinds["flaggems"].keys() - kinds["metax"].keys(), {"masked_scatter", "std.correction"})
        self.assertEqual(kinds["flaggems"].keys() - kinds["dcu"].keys(), {"argmax", "std.correction"})

    def test_errors_name_input_and_remedy(self) -> None:
        for call, kind, text in (
            (lambda: routes.set_route("add.Tenso", "cpu"), RuntimeError, '"add.Tenso". Nearest: add.Tensor'),
            (lambda: routes.set_route("mul.Tensor", "ours"), RuntimeError, "mul.Tensor can't go to ours"),
            (lambda: routes.register_backend("ours", {}), RuntimeError, 'already. Choose another name'),
            (lambda: routes.register_backend("cpu", {}), RuntimeError, "the library's own"),
            (lambda: routes.register_backend("a b", {}), RuntimeError, "must be of letters"),
            (lambda: routes.register_backend("new", {"nope": raising}), ValueError, 'no operator "nope"'),
            (lambda: routes.load_routes("/nope.conf"), RuntimeError, "/nope.conf"),
        ):
            with self.subTest(text), self.assertRaises(kind) as caught:
                call()
            self.assertIn(text, str(caught.exception))

    def test_a_refused_name_can_be_registered_when_it_is_mended(self) -> None:
        with self.assertRaises(RuntimeError):
            routes.register_backend("dispatch", {"sin": torch.cos})
        routes.register_backend("dispatch2", {"sin": torch.cos})
        routes.set_route("sin", "dispatch2")
        self.assertEqual(torch.zeros(1, device="flagos").sin().item(), 1.0)

    @unittest.skipUnless(NATIVE == "cpu", "the CPU target refuses FlagGems")
    def test_flaggems_needs_a_gpu(self) -> None:
        with self.assertRaisesRegex(RuntimeError, "FLAGOS_TARGET=cuda"):
            routes.use_flaggems()


if __name__ == "__main__":
    unittest.main()
